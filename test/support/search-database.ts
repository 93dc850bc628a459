import { readFile } from 'node:fs/promises';

/** Which of the words are in the files of a dev server's database, as text, in hexadecimal or in base64. */
export async function searchDatabase(path: string, words: readonly string[]): Promise<string[]> {
  // What it has not yet moved into the file is in the other one.
  const files = [await readFile(path), await readFile(`${path}-wal`).catch(() => Buffer.alloc(0))];
  return words.filter((word) => formsOf(word).some((form) => files.some((file) => file.includes(form))));
}

/** A word in bytes, in hexadecimal and in base64. */
export function formsOf(word: string): Buffer[] {
  const bytes = Buffer.from(word);
  // What stands before the word shifts it, and its last characters depend on what follows.
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    return Buffer.from(text.slice(before && before + 1, Math.floor(((before + bytes.length) * 8) / 6)));
  });
  const inOtherBase64 = inBase64.map((form) =>
    Buffer.from(String(form).replaceAll('-', '+').replaceAll('_', '/')),
  );
  return [
    bytes,
    Buffer.from(word, 'utf16le'),
    Buffer.from(bytes.toString('hex')),
    ...inBase64,
    ...inOtherBase64,
  ];
}
