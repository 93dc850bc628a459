import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ConfigError, withoutBlanks } from '../config/read-setting';
import { isKeyId, KEY_ID_RULE, makeEncryptionKey, parseKeyRing } from '../encryption/key-ring';
import { EXIT } from './exit-codes';
import { printLine, type Terminal } from './terminal';

interface EncryptionKeyOptions {
  file?: string;
  last?: boolean;
}

/**
 * `videogen encryption-key NAME`: makes a key, and prints it or puts it into the file of keys: last, where it only decrypts, or first,
 * where it encrypts. A key that was put last is moved to the front.
 */
export async function encryptionKey(
  name: string,
  options: EncryptionKeyOptions,
  terminal: Terminal,
): Promise<number> {
  if (!isKeyId(name)) throw new ConfigError(`The name of a key ${KEY_ID_RULE}.`);
  const file = options.file ?? withoutBlanks(terminal.env).VIDEOGEN_ENCRYPTION_KEYS_FILE?.trim();
  if (file === undefined) {
    const where = options.last
      ? 'last in VIDEOGEN_ENCRYPTION_KEYS, after'
      : 'first in VIDEOGEN_ENCRYPTION_KEYS, before';
    printLine(terminal, `This is the key. Put it ${where} a comma:`);
    terminal.out(makeEncryptionKey(name));
    return EXIT.ok;
  }
  const { others, existing } = readKeys(file, name, options.last ?? false);
  const key = existing ?? makeEncryptionKey(name);
  const isLast = options.last === true && others !== '';
  write(file, isLast ? `${others.trimEnd()}\n${key}\n` : `${key}\n${others}`);
  const rest = others === '' ? '' : ' The other keys still decrypt.';
  printLine(
    terminal,
    isLast
      ? `Put ${name} last in ${file}: it decrypts after a restart. When all processes have it, put it first with: videogen encryption-key ${name} --file ${file}`
      : `Put ${name} first in ${file}: it encrypts after a restart.${rest}`,
  );
  return EXIT.ok;
}

/** The keys of the file without the named one, which only a key that is not first may be. */
function readKeys(file: string, name: string, isLast: boolean): { others: string; existing?: string } {
  const text = readFile(file);
  if (text.trim() === '') return { others: '' };
  const parsed = parseKeyRing(text);
  // A file with a mistake in it would be refused whole, the new key included.
  if ('problem' in parsed) throw new ConfigError(`${file} ${parsed.problem}: correct it first.`);
  if (parsed.ring.find(name) === undefined) return { others: text };
  if (isLast || parsed.ring.writingId === name)
    throw new ConfigError(`${file} has a key ${name} already: choose another name.`);
  let existing: string | undefined;
  const lines = text.split('\n').flatMap((line) => {
    if (line.trimStart().startsWith('#')) return [line];
    const keys = line.split(',').map((key) => key.trim());
    existing ??= keys.find((key) => key.startsWith(`${name}:`));
    const kept = keys.filter((key) => !key.startsWith(`${name}:`));
    return kept.length === 0 ? [] : [kept.join(',')];
  });
  return { others: lines.join('\n'), existing };
}

function readFile(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${error instanceof Error ? error.message : error}).`);
  }
}

/** A process that reads the file meanwhile finds it whole. */
function write(file: string, text: string): void {
  const next = `${file}.new`;
  try {
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, file);
  } catch (error) {
    throw new ConfigError(`${file} cannot be written (${error instanceof Error ? error.message : error}).`);
  }
}
