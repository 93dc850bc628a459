import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { openKeyFile } from '../../src/gateway/gateway-keys';
import { FakeTerminal } from './fake-terminal';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-keys-'));
  file = join(folder, 'keys');
});
afterEach(() => rmSync(folder, { recursive: true }));

const gatewayKey = async (...args: string[]) => {
  const terminal = new FakeTerminal({ VIDEOGEN_GATEWAY_KEYS_FILE: file });
  const code = await run(['gateway-key', ...args], terminal);
  return { code, out: terminal.stdout.trim(), err: terminal.stderr };
};

it('prints a key that opens the gateway, and writes its digest into a private file', async () => {
  const { code, out, err } = await gatewayKey('web_shop');
  expect([code, err]).toEqual([0, expect.stringContaining(`Added web_shop to ${file}.`)]);
  expect(openKeyFile(file, () => undefined).find(out)?.name).toBe('web_shop');
  expect(readFileSync(file, 'utf8')).not.toContain(out);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
});

it('makes another key for the same name, unless it is made only if missing', async () => {
  const first = await gatewayKey('local', '--if-missing');
  const again = await gatewayKey('local', '--if-missing');
  expect([again.code, again.out, again.err]).toEqual([0, '', `local has a key in ${file} already.\n`]);
  const second = await gatewayKey('local');
  const ring = openKeyFile(file, () => undefined);
  expect([first, second].map(({ out }) => ring.find(out)?.name)).toEqual(['local', 'local']);
});

it.each([
  ['a name with a dash', ['web-shop'], /^The name of a key must be /],
  ['a file that cannot be read', ['shop', '--file', '/'], /^\/ cannot be read /],
])('%s is a usage error in one sentence', async (_what, args, sentence) => {
  const { code, out, err } = await gatewayKey(...args);
  expect([code, out, err]).toEqual([2, '', expect.stringMatching(sentence)]);
});

const encryptionKey = async (...args: string[]) => {
  const terminal = new FakeTerminal({});
  const code = await run(['encryption-key', ...args], terminal);
  return { code, out: terminal.stdout.trim(), err: terminal.stderr };
};

it('prints a key that is a ring by itself', async () => {
  const { code, out } = await encryptionKey('2026-11');
  expect(code).toBe(0);
  expect(readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: out })?.writingId).toBe('2026-11');
});

it('puts a key first in a private file, and shows it nowhere else', async () => {
  await encryptionKey('2026-05', '--file', file);
  const { code, out, err } = await encryptionKey('2026-11', '--file', file);
  expect([code, out, err]).toEqual([
    0,
    '',
    `Put 2026-11 first in ${file}: it encrypts after a restart. The other keys still decrypt.\n`,
  ]);
  const ring = readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: file });
  expect([ring?.writingId, ring?.find('2026-05')]).toEqual(['2026-11', expect.anything()]);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
});

it('puts a key last for the first step of a rotation, and first for the second', async () => {
  await encryptionKey('2026-05', '--file', file);
  const { err } = await encryptionKey('2026-11', '--last', '--file', file);
  expect(err).toBe(
    `Put 2026-11 last in ${file}: it decrypts after a restart. When all processes have it, put it first with: videogen encryption-key 2026-11 --file ${file}\n`,
  );
  const made = readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: file });
  expect([made?.writingId, made?.secrets().length]).toEqual(['2026-05', 2]);
  await encryptionKey('2026-11', '--file', file);
  const moved = readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: file });
  expect([moved?.writingId, moved?.secrets()]).toEqual(['2026-11', made?.secrets().reverse()]);
  expect((await encryptionKey('2027-05', '--last')).err).toContain('Put it last in VIDEOGEN_ENCRYPTION_KEYS');
});

it('changes no file with a mistake in it, and no key of the same name', async () => {
  await encryptionKey('2026-11', '--file', file);
  const before = readFileSync(file, 'utf8');
  const again = await encryptionKey('2026-11', '--file', file);
  expect([again.code, again.err]).toEqual([2, `${file} has a key 2026-11 already: choose another name.\n`]);
  expect(readFileSync(file, 'utf8')).toBe(before);
  writeFileSync(file, 'something else');
  expect((await encryptionKey('2027-05', '--file', file)).err).toBe(
    `${file} has a key 1 that is not ID:BASE64 with 32 bytes: the id must be 1 to 63 letters, digits, dots, dashes or underscores, such as 2026-11: correct it first.\n`,
  );
  expect((await encryptionKey('two words')).code).toBe(2);
});
