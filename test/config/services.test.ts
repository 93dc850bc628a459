import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkCaps } from '../../src/config/caps-config';
import { localTaskQueue } from '../../src/config/queues';
import {
  keyReader,
  namesAService,
  readApiKey,
  readableKeys,
  readServiceConfig,
  usesEmulator,
} from '../../src/config/service-config';
import { servicesJsonSchema } from '../../src/config/services-file';
import { readSetting } from '../../src/config/settings';
import { refusal as refusalOf } from './refusal';

const KEY = 'sk-1234567890-abcdefghij';
const BASE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: KEY };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-services-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const fileWith = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** No message repeats the key. */
const refusal = (read: () => unknown) => refusalOf(read, { without: KEY });

describe('VIDEO_API_BASE_URL', () => {
  const read = (VIDEO_API_BASE_URL?: string) => readServiceConfig({ ...BASE, VIDEO_API_BASE_URL }).baseUrl;

  it.each([
    ['https://example.com/video///', 'https://example.com/video///'],
    [' HTTPS://API.EXAMPLE.COM\n', 'https://api.example.com/'],
  ])('%j is read as %j', (given, baseUrl) => {
    expect(read(given)).toBe(baseUrl);
  });

  it.each([
    [undefined, 'is not set'],
    ['localhost:8080', 'is not an http(s) URL'],
    ['https://example.com?key=1', 'has a user, a query or a fragment'],
    ['https://:hunter2@example.com', 'has a user, a query or a fragment'],
  ])('%j is refused: it %s', (given, problem) => {
    const message = refusal(() => read(given));
    expect(message).toMatch(/^VIDEO_API_BASE_URL /);
    expect(message).toContain(problem);
    expect(message).toContain('such as https://api.example.com');
    expect(message).not.toContain('hunter2');
  });
});

describe('VIDEO_API_KEY', () => {
  const read = (key?: string, file?: string) =>
    readServiceConfig({ ...BASE, VIDEO_API_KEY: key, VIDEO_API_KEY_FILE: file });

  it('is returned by a function, so that no printed configuration contains it, and is trimmed', () => {
    const config = read(` ${KEY}\n`);
    expect(config.apiKey()).toBe(KEY);
    expect(JSON.stringify(config)).not.toContain(KEY);
    expect(Object.isFrozen(config)).toBe(true);
    expect(readServiceConfig({ ...BASE, VIDEOGEN_DOWNLOAD_ALLOW: 'minio' }).downloadAllow).toEqual(['minio']);
  });

  it.each<[key: string | undefined, problem: RegExp]>([
    [undefined, /^VIDEO_API_KEY is not set: .*VIDEO_API_KEY_FILE/],
    ['\n', /^VIDEO_API_KEY is empty: /],
    ...[`Bearer ${KEY}`, `${KEY}\u00e9`, `${KEY}\u0000x`].map((key): [string, RegExp] => [
      key,
      /^VIDEO_API_KEY holds a space, a line break or .* ASCII: /,
    ]),
  ])('is refused without being quoted: %j', (key, problem) => {
    expect(refusal(() => read(key))).toMatch(problem);
  });

  it('in a file is trimmed, and read again at the next call, so that it can be rotated', () => {
    const file = fileWith('key', ' sk-old \r\n\n');
    const { apiKey } = read(undefined, file);
    expect(apiKey()).toBe('sk-old');
    writeFileSync(file, 'sk-new\n');
    expect(apiKey()).toBe('sk-new');
    rmSync(file);
    expect(refusal(apiKey)).toMatch(/^VIDEO_API_KEY_FILE .*\(ENOENT\)/);
    writeFileSync(file, 'sk-newer\n');
    expect(apiKey()).toBe('sk-newer');
  });

  it('is refused in both places, unless one is blank, as in a compose file', () => {
    expect(refusal(() => read(KEY, fileWith('key', KEY)))).toBe(
      'VIDEO_API_KEY and VIDEO_API_KEY_FILE are both set: unset one of them.',
    );
    expect(read('', fileWith('key', KEY)).apiKey()).toBe(KEY);
    expect(read(KEY, '').apiKey()).toBe(KEY);
  });

  it.each<[what: string, file: () => string, problem: RegExp]>([
    ['empty', () => fileWith('key', '\n'), /^VIDEO_API_KEY_FILE is empty: /],
    [
      'one with more than a key',
      () => fileWith('key', `VIDEO_API_KEY = ${KEY}`),
      /^VIDEO_API_KEY_FILE holds a space/,
    ],
    // It is not quoted either.
    ['the key itself', () => KEY, /^VIDEO_API_KEY_FILE names a file that cannot be read \(ENOENT\): /],
  ])('is refused when its file is %s', (_what, file, problem) => {
    expect(refusal(() => read(undefined, file()))).toMatch(problem);
  });
});

it.each<[kind: string, file: () => string, problem: string]>([
  ['a pipe', () => join(folder, 'pipe'), 'not a regular file'],
  ['a device without an end', () => '/dev/zero', 'not a regular file'],
  ['a folder', () => folder, 'EISDIR'],
  ['a huge file', () => fileWith('huge', 'k'.repeat(2_000_000)), 'larger than 20 kB'],
])('a file that a setting names is refused at once when it is %s', (kind, fileOf, problem) => {
  const file = fileOf();
  if (kind === 'a pipe') execFileSync('mkfifo', [file]);
  expect(refusal(() => readApiKey({ VIDEO_API_KEY_FILE: file }))).toContain(
    `VIDEO_API_KEY_FILE names a file that cannot be read (${problem})`,
  );
  expect(refusal(() => readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: file }))).toContain(
    `a file that can be read (${problem})`,
  );
});

describe('VIDEOGEN_PROFILE', () => {
  const read = (VIDEOGEN_PROFILE: string) => readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE });

  it('is none unless set, and may name a built-in profile', () => {
    expect(readServiceConfig(BASE)).not.toHaveProperty('profile');
    expect(read(' ')).toBeUndefined();
    expect(readServiceConfig({ ...BASE, VIDEOGEN_PROFILE: 'openai' }).profile).toMatchObject({
      video: { path: '/v1/videos/{taskId}/content' },
    });
  });

  it('may be a YAML file', () => {
    const file = fileWith('profile.yaml', '# ours\nread:\n  taskId: ticket.no\n');
    expect(read(file)).toEqual({ read: { taskId: 'ticket.no' } });
  });

  it.each([
    ['a misspelt field', () => fileWith('profile.yaml', 'read:\n  taskID: x\n'), 'read.taskID is not known'],
    ['text that is not YAML', () => fileWith('profile.yaml', 'read: [\n'), 'names a file that is not YAML'],
    ['no file, nor the name of a built-in profile', () => 'sora', 'openai'],
  ])('that is %s is refused', (_what, file, problem) => {
    expect(refusal(() => read(file()))).toContain(problem);
  });
});

function envWith(content: string, more: Record<string, string> = {}) {
  return { VIDEOGEN_SERVICES_FILE: fileWith('services.yaml', content), ...more };
}

const one = (fields: string) =>
  `services: { one: { baseUrl: "https://one.example.com", key: { env: MAIN_KEY }, ${fields} } }`;
const withKey = (key: string) => one('').replace('key: { env: MAIN_KEY }', key);

describe('VIDEOGEN_SERVICES_FILE', () => {
  beforeEach(() => {
    mkdirSync(join(folder, 'profiles'));
    fileWith('profiles/mine.yaml', 'name: Mine\nrequestFields: [model]\n');
    fileWith('main.key', `${KEY}\n`);
  });

  const read = (content: string) => {
    const file = readSetting('VIDEOGEN_SERVICES_FILE', envWith(content));
    if (file === undefined) throw new Error('no file');
    return file;
  };

  const FOUR = `
services:
  fal-seedance:
    baseUrl: https://fal.example.com/api
    profile: fal
    key: { file: main.key }
    submitsPerSecond: 0.5
    downloadAllow: [cdn.internal, 10.0.0.7]
    onLostSubmit: fail
  mine: { baseUrl: "http://127.0.0.1:4000", profile: profiles/mine.yaml, key: { env: MINE_KEY } }
  inline: { baseUrl: "http://127.0.0.1:4001", profile: { name: Inline }, key: { file: main.key } }
  my-veo: { aiSdk: { package: "@ai-sdk/google", model: veo-3.1-generate-preview }, key: { env: VEO_KEY } }
default: fal-seedance
`;

  it('has services with their addresses, profiles and the places of their keys, and paths relative to itself', () => {
    const file = read(FOUR);
    expect(Object.keys(file.services)).toEqual(['fal-seedance', 'mine', 'inline', 'my-veo']);
    expect(file).toMatchObject({
      services: {
        'fal-seedance': {
          name: 'fal-seedance',
          baseUrl: 'https://fal.example.com/api',
          profile: { name: 'fal' },
          key: { file: join(folder, 'main.key') },
          submitsPerSecond: 0.5,
          downloadAllow: ['cdn.internal', '10.0.0.7'],
          onLostSubmit: 'fail',
        },
        mine: {
          profile: { name: 'Mine', requestFields: ['model'] },
          requestFields: ['model'],
          key: { env: 'MINE_KEY' },
        },
        inline: { profile: { name: 'Inline' } },
        'my-veo': { aiSdk: { model: 'veo-3.1-generate-preview' } },
      },
      default: 'fal-seedance',
    });
    expect(JSON.stringify(file)).not.toContain(KEY);
  });

  it.each([
    ['a misspelt field', one('profil: fal'), 'services.one.profil is not known'],
    [
      'a key at two places',
      withKey('key: { env: A, file: a.key }'),
      'services.one.key must say where the key is',
    ],
    [
      'no address',
      one('').replace('baseUrl: "https://one.example.com", ', ''),
      'services.one must have either baseUrl or aiSdk',
    ],
    [
      'an inline profile with an impossible value',
      one('profile: { cancel: { method: GET, path: "/x" } }'),
      'services.one.profile has a mistake (cancel.method must be one of POST',
    ],
    ['an impossible name', one('').replace('one:', '"o n e":'), 'services.o n e must be a name of 1 to 64'],
    ['another default', `${one('')}\ndefault: two`, 'default must be one of the services: one'],
  ])('with %s is refused, with the path of the mistake', (_what, content, problem) => {
    const message = refusal(() => read(content));
    expect(message).toMatch(/^VIDEOGEN_SERVICES_FILE names a file /);
    expect(message).toContain(problem);
  });

  const NOT_ITSELF = 'must say where the key is, and must not be the key itself';
  it.each([
    ['as a variable', withKey(`key: { env: ${KEY} }`), `services.one.key.env ${NOT_ITSELF}`],
    [
      'in capitals, as a variable',
      withKey(`key: { env: AKIA1234567890ABCDEFGHIJ }`),
      `services.one.key.env ${NOT_ITSELF}`,
    ],
    [
      'next to the address',
      one(`apiKey: ${KEY}`),
      'services.one.apiKey is not known, there can be baseUrl, aiSdk, profile, key',
    ],
  ])('with a key in it %s is refused, with advice and without showing it', (_how, content, problem) => {
    const message = refusal(() => read(content));
    expect(message).toContain(problem);
    expect(message).not.toContain('AKIA1234567890');
  });

  it('names the place of a key that is missing, and hides what else can be read', () => {
    const mine = { name: 'mine', key: { env: 'MINE_KEY' } };
    expect(() => keyReader(mine, {})).toThrow(
      'services.mine.key of VIDEOGEN_SERVICES_FILE names MINE_KEY, which is not set: put the key there as the service gave it, on one line.',
    );
    expect(() => keyReader(mine, { MINE_KEY: 'two words' })).toThrow(/^(?!.*two words).*which holds a space/);
    expect(readableKeys(envWith(FOUR))).toEqual([KEY, KEY]);
  });

  it('has the shipped JSON Schema', () => {
    const shipped = JSON.parse(readFileSync(join(__dirname, '../../services.schema.json'), 'utf8'));
    expect(shipped).toEqual(JSON.parse(JSON.stringify(servicesJsonSchema())));
  });
});

it('a service is named by its address or by a file, and without one commands use the emulator', () => {
  const environments = [{ VIDEO_API_BASE_URL: ' ' }, { VIDEO_API_KEY: KEY }, BASE, envWith(one(''))];
  expect(environments.map(namesAService)).toEqual([false, false, true, false]);
  expect(environments.map(usesEmulator)).toEqual([true, true, false, false]);
});

it('on one machine, jobs have a task queue for each pair of services and storage, whatever the keys and limits', () => {
  const storage = { VIDEOGEN_STORAGE: folder };
  const queueOf = (content: string, more = {}) => localTaskQueue({ ...storage, ...envWith(content, more) });
  const queue = queueOf(one(''));
  expect(queueOf(one('submitsPerSecond: 2').replace('MAIN_KEY', 'OTHER_KEY'))).toBe(queue);
  expect(localTaskQueue({ ...BASE, VIDEO_API_KEY: 'other' })).toBe(localTaskQueue(BASE));
  expect(localTaskQueue(storage)).toMatch(/^video-generation-emulator-[0-9a-f]{8}$/);
  const queues = [
    queue,
    queueOf(one('').replace('one.example', 'two.example')),
    queueOf(one('').replace('one:', 'two:')),
    queueOf(`${one('')}\ndefault: one`),
    queueOf(one(''), BASE),
    ...[{}, storage, BASE, { ...BASE, ...storage }].map(localTaskQueue),
  ];
  expect(new Set(queues).size).toBe(queues.length);
});

describe('VIDEOGEN_CAPS', () => {
  const read = (content: string) =>
    readSetting('VIDEOGEN_CAPS', { VIDEOGEN_CAPS: fileWith('caps.yaml', content) });

  it('is a YAML file, with money as an amount and a currency', () => {
    expect(
      read('day: { videos: 100, money: 50 USD }\nkey: { seconds: 60 }\nkeys: { web_shop: { videos: 5 } }\n'),
    ).toEqual({
      day: { videos: 100, money: { amount: 50, currency: 'USD' } },
      key: { seconds: 60 },
      keys: { web_shop: { videos: 5 } },
    });
    expect(readSetting('VIDEOGEN_CAPS', {})).toEqual({});
  });

  it.each([
    ['a misspelt name', 'dya: { videos: 1 }', 'Unrecognized key: "dya"'],
    ['a cap without a limit', 'day: {}', 'day must have videos, seconds or money'],
    ['money without a currency', 'day: { money: 50 }', 'day.money must be an amount and a currency'],
    ['an impossible name of a key', 'keys: { "Web Shop": { videos: 1 } }', 'keys.Web Shop'],
  ])('with %s is refused, and the problem named', (_what, content, problem) => {
    const message = refusal(() => read(content));
    expect(message).toContain('VIDEOGEN_CAPS names');
    expect(message).toContain(problem);
  });

  it('and the caps that a program gives are checked alike', () => {
    expect(() => checkCaps({ day: { videos: -1 } })).toThrow('day.videos must be a whole number');
  });
});
