import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../src/config/read-setting';
import { makeKey, openKeyFile, parseKeys } from '../../src/gateway/gateway-keys';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-keys-'));
  file = join(folder, 'keys.txt');
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => {
  const problems: string[] = [];
  const ring = openKeyFile(file, ({ message }) => problems.push(message));
  return { ring, problems };
};

it('a key is found by its name, and the file does not contain it', () => {
  const { key, line } = makeKey('web_shop');
  writeFileSync(file, `# the shop\n\n${line}\n`);
  expect(line).not.toContain(key.slice(4));
  const { ring } = open();
  expect(ring.find(key)?.name).toBe('web_shop');
  expect(ring.find(`${key}x`)?.name).toBeUndefined();
  expect(ring.find('')?.name).toBeUndefined();
});

it('a name may have two keys, while one replaces the other', () => {
  const [old, next] = [makeKey('shop'), makeKey('shop')];
  writeFileSync(file, `${old.line}\n${next.line}\n`);
  const { ring } = open();
  expect([old.key, next.key].map((key) => ring.find(key)?.name)).toEqual(['shop', 'shop']);
});

it('a key that is removed from the file is refused at the next call, and a new one is accepted', () => {
  const [old, next] = [makeKey('old'), makeKey('new')];
  writeFileSync(file, `${old.line}\n`);
  const { ring } = open();
  expect(ring.find(old.key)?.name).toBe('old');
  writeFileSync(file, `${next.line}\n`);
  expect([old.key, next.key].map((key) => ring.find(key)?.name)).toEqual([undefined, 'new']);
});

it('a file with a mistake leaves the keys as they are, and the mistake is reported once', () => {
  const { key, line } = makeKey('shop');
  writeFileSync(file, `${line}\n`);
  const { ring, problems } = open();
  writeFileSync(file, `${line}\nshop tooshort\n`);
  expect([ring.find(key)?.name, ring.find(key)?.name]).toEqual(['shop', 'shop']);
  expect(problems).toEqual([
    `After the name, line 2 of ${file} must have 64 hex digits: videogen gateway-key shop prints one.`,
  ]);
});

it('a path that cannot be followed leaves the keys as they are', () => {
  const { key, line } = makeKey('shop');
  writeFileSync(file, `${line}\n`);
  const { ring, problems } = open();
  rmSync(file);
  symlinkSync(file, file);
  expect([ring.find(key)?.name, ring.find(key)?.name]).toEqual(['shop', 'shop']);
  expect(problems).toEqual([expect.stringContaining('ELOOP')]);
});

it.each(['', 'Shop', 'web-shop', '_shop', 'shop_', 'a'.repeat(64), 'a b', '../a'])(
  'the name %j is refused with its rule',
  (name) => {
    expect(() => makeKey(name)).toThrow(ConfigError);
    expect(() => parseKeys(`${name || '-'} ${'0'.repeat(64)}`, 'keys')).toThrow(/line 1 of keys/);
  },
);

it('a line may have limits of its key, and a mistake in them is told without its words', () => {
  const digest = '0'.repeat(64);
  const limitsOf = (text: string) => parseKeys(`shop ${digest} ${text}`, 'keys')[0]?.limits;
  expect(limitsOf('')).toEqual({});
  expect(limitsOf('requests-per-second=0.5 jobs-at-a-time=10 jobs-a-day=500')).toEqual({
    requestsPerSecond: 0.5,
    jobsAtATime: 10,
    jobsADay: 500,
  });
  for (const wrong of [
    'jobs-a-day=0',
    'jobs-at-a-time=1.5',
    'jobs-a-day',
    'jobs=1',
    'vgk_secret',
    'jobs-a-day=-1',
  ])
    expect(() => limitsOf(wrong)).toThrow(/^After the digest, line 1 of keys may have limits only, such as /);
});

it('a missing file is one sentence with the fix', () => {
  expect(() => openKeyFile(file, () => undefined)).toThrow(
    /^VIDEOGEN_GATEWAY_KEYS_FILE names .*keys\.txt, which cannot be read .*: make it with videogen gateway-key NAME\.$/,
  );
});

it('the file is read when it has changed, and a wrong key costs the same with thousands of keys', () => {
  const { key, line } = makeKey('shop');
  const others = Array.from(
    { length: 14_000 },
    (_, index) => `other${index} ${index.toString(16).padStart(64, '0')}`,
  );
  writeFileSync(file, [line, ...others].join('\n'));
  const { ring } = open();
  jest.useFakeTimers({ now: Date.now() + 60_000 });
  ring.find('');
  const startedAt = process.hrtime.bigint();
  for (let call = 0; call < 1_000; call++) expect(ring.find(`wrong-${call}`)).toBeUndefined();
  const ms = Number(process.hrtime.bigint() - startedAt) / 1_000_000;
  jest.useRealTimers();
  // Comparing with each key takes 16 s.
  expect(ms).toBeLessThan(2_000);
  expect(ring.find(key)?.name).toBe('shop');
});
