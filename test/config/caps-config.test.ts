import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCap } from '../../src/cli/read-input';
import { checkCaps } from '../../src/config/caps-config';
import { readSetting } from '../../src/config/settings';
import { firstLineOf } from '../../src/contract/error-code';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-caps-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(content: string) {
  const file = join(folder, 'caps.yaml');
  writeFileSync(file, content);
  return readSetting('VIDEOGEN_CAPS', { VIDEOGEN_CAPS: file });
}

const problemOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return firstLineOf(error);
  }
};

test('caps are read from a YAML file, money as an amount and a currency', () => {
  expect(
    read('day: { videos: 100, money: 50 USD }\nkey: { seconds: 60 }\nkeys: { web_shop: { videos: 5 } }\n'),
  ).toEqual({
    day: { videos: 100, money: { amount: 50, currency: 'USD' } },
    key: { seconds: 60 },
    keys: { web_shop: { videos: 5 } },
  });
  expect(readSetting('VIDEOGEN_CAPS', {})).toEqual({});
});

test.each([
  ['a misspelt name', 'dya: { videos: 1 }', 'Unrecognized key: "dya"'],
  ['a misspelt limit', 'day: { video: 1 }', 'day Unrecognized key: "video"'],
  ['a cap without a limit', 'day: {}', 'day must have videos, seconds or money'],
  ['half a video', 'day: { videos: 0.5 }', 'day.videos must be a whole number'],
  ['money without a currency', 'day: { money: 50 }', 'day.money must be an amount and a currency'],
  ['an impossible name of a key', 'keys: { "Web Shop": { videos: 1 } }', 'keys.Web Shop'],
  ['no YAML', 'day: [', 'not YAML'],
  ['nothing in it', '# soon\n', 'a file without a cap'],
])('a file with %s is refused, and the problem named', (_what, content, problem) => {
  const message = problemOf(() => read(content));
  expect(message).toContain('VIDEOGEN_CAPS names');
  expect(message).toContain(problem);
});

test('a file that is not there is named', () => {
  expect(
    problemOf(() => readSetting('VIDEOGEN_CAPS', { VIDEOGEN_CAPS: join(folder, 'none.yaml') })),
  ).toContain('ENOENT');
});

test('caps that a program gives are checked as those of a file', () => {
  expect(problemOf(() => checkCaps({ day: { videos: -1 } }))).toContain('day.videos must be a whole number');
});

test('--cap takes a number with a unit or a currency', () => {
  expect(readCap(['3 videos', '8s', '2.50 USD'])).toEqual({
    videos: 3,
    seconds: 8,
    money: { amount: 2.5, currency: 'USD' },
  });
  expect(readCap(undefined)).toBeUndefined();
  for (const wrong of ['3', 'USD', '1.5 videos', '-1 USD', '3 3 videos'])
    expect(problemOf(() => readCap([wrong]))).toContain('--cap is');
});
