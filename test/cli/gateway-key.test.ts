import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { openKeyFile } from '../../src/gateway/gateway-keys';
import { FakeTerminal } from './fake-terminal';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-gateway-key-'));
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
