import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { EncryptionCodec } from '../../src/encryption/encryption-codec';
import { makeEncryptionKey, parseKeyRing } from '../../src/encryption/key-ring';
import type { NotDecrypted } from '../../src/encryption/not-decrypted';
import { FakeTerminal } from '../cli/fake-terminal';
import { blocksOf, readPage, sectionOf } from '../support/docs-page';

const page = readPage('deployment.md');

test('the commands on the page about encryption make keys that a process reads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-encryption-page-'));
  const before = process.cwd();
  try {
    process.chdir(folder);
    const [block = ''] = blocksOf(sectionOf(page, 'Encryption'), 'console');
    const [command = '', shown = '', exported = ''] = block.trim().split('\n');
    const terminal = new FakeTerminal({});
    expect(await run(command.replace('$ videogen ', '').split(' '), terminal)).toBe(0);
    expect(terminal.stderr.trim()).toBe(shown);
    const [, name = '', value = ''] = /export (\w+)=(.+)$/.exec(exported) ?? [];
    const ring = readEncryptionKeys({ [name]: value.replace('$PWD', folder) });
    expect(ring?.writingId).toBe('2026-11');
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test('the sentences on the page about encryption are those of the code', async () => {
  const ringOf = (id: string) => {
    const parsed = parseKeyRing(makeEncryptionKey(id));
    return 'ring' in parsed ? parsed.ring : undefined;
  };
  const [payload = {}] = await new EncryptionCodec({ ring: ringOf('2026-11') }).encode([{}]);
  const sentence = async (given: object, ring = ringOf('2026-11')) =>
    new EncryptionCodec({ ring }).decode([given]).catch((error: NotDecrypted) => error.message);
  const sentences = [
    await new EncryptionCodec({ ring: undefined }).decode([payload]).catch(({ message }) => message),
    await sentence(payload, ringOf('2027-05')),
    await sentence(payload),
    await sentence({ ...payload, data: new Uint8Array() }),
  ];
  const rows = [...page.matchAll(/^\| `(A payload [^`]+)` \|/gm)].map(([, text]) => text);
  expect(rows).toHaveLength(sentences.length);
  for (const [index, row] of rows.entries()) expect(sentences[index]).toContain(row);
});
