import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localTaskQueue } from '../../src/config/queues';
import { keyReader, readableKeys, usesEmulator } from '../../src/config/service-config';
import { servicesJsonSchema } from '../../src/config/services-file';
import { readSetting } from '../../src/config/settings';
import { firstLineOf } from '../../src/contract/error-code';

const KEY = 'sk-1234567890-abcdefghij';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-services-config-'));
  mkdirSync(join(folder, 'profiles'));
  writeFileSync(join(folder, 'profiles/mine.yaml'), 'name: Mine\nrequestFields: [model]\n');
  writeFileSync(join(folder, 'profiles/bad.yaml'), 'naem: Mine\n');
  writeFileSync(join(folder, 'main.key'), `${KEY}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

function envWith(content: string, more: Record<string, string> = {}) {
  const file = join(folder, 'services.yaml');
  writeFileSync(file, content);
  return { VIDEOGEN_SERVICES_FILE: file, ...more };
}

const read = (content: string) => {
  const file = readSetting('VIDEOGEN_SERVICES_FILE', envWith(content));
  if (file === undefined) throw new Error('no file');
  return file;
};

const problemOf = (work: () => unknown) => {
  try {
    return JSON.stringify(work());
  } catch (error) {
    return firstLineOf(error);
  }
};

const TWO = `
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

test('the file names services with their addresses, profiles and keys, and has paths relative to itself', () => {
  const { services, default: byDefault } = read(TWO);
  expect(Object.keys(services)).toEqual(['fal-seedance', 'mine', 'inline', 'my-veo']);
  expect(services['fal-seedance']).toEqual({
    name: 'fal-seedance',
    baseUrl: 'https://fal.example.com/api',
    profile: expect.objectContaining({ name: 'fal' }),
    key: { file: join(folder, 'main.key') },
    submitsPerSecond: 0.5,
    downloadAllow: ['cdn.internal', '10.0.0.7'],
    onLostSubmit: 'fail',
    requestFields: expect.any(Array),
  });
  expect(services.mine?.profile).toEqual({ name: 'Mine', requestFields: ['model'] });
  expect(services.inline?.profile).toEqual({ name: 'Inline' });
  expect(services['my-veo']).toMatchObject({ aiSdk: { model: 'veo-3.1-generate-preview' } });
  expect(services.mine?.key).toEqual({ env: 'MINE_KEY' });
  expect(byDefault).toBe('fal-seedance');
});

test('JSON will do, and so will no file at all', () => {
  const json = JSON.stringify({
    services: { one: { baseUrl: 'https://one.example.com', key: { env: 'MAIN_KEY' } } },
  });
  expect(Object.keys(read(json).services)).toEqual(['one']);
  expect(readSetting('VIDEOGEN_SERVICES_FILE', {})).toBeUndefined();
});

const one = (fields: string) =>
  `services: { one: { baseUrl: "https://one.example.com", key: { env: MAIN_KEY }, ${fields} } }`;
const withKey = (key: string) => one('').replace('key: { env: MAIN_KEY }', key);

test.each([
  ['a misspelt part', 'service: {}', 'service is not known'],
  ['a misspelt field', one('profil: fal'), 'services.one.profil is not known'],
  ['no service', 'services: {}', 'services must have 1 to 50 services'],
  ['no key', withKey('onLostSubmit: fail'), 'services.one.key must say where the key is'],
  ['a key that is nowhere', withKey('key: {}'), 'services.one.key must say where the key is'],
  [
    'a key at two places',
    withKey('key: { env: A, file: a.key }'),
    'services.one.key must say where the key is',
  ],
  [
    'no address',
    one('').replace('baseUrl: "https://one.example.com", ', ''),
    'services.one must have either',
  ],
  ['two addresses', one('aiSdk: { package: x, model: y }'), 'services.one must have either baseUrl or aiSdk'],
  ['a wrong address', one('').replace('https:', 'ftp:'), 'services.one.baseUrl is not an http(s) URL'],
  ['an unknown profile', one('profile: fall'), 'services.one.profile is "fall", neither a built-in'],
  [
    'a profile file with a mistake',
    one('profile: profiles/bad.yaml'),
    'a profile with a mistake (naem is not known, there can be name, paths,',
  ],
  ['an inline profile with a mistake', one('profile: { naem: x }'), 'services.one.profile.naem is not known'],
  [
    'an inline profile with an impossible value',
    one('profile: { cancel: { method: GET, path: "/x" } }'),
    'services.one.profile has a mistake (cancel.method must be one of POST',
  ],
  ['an impossible name', one('').replace('one:', '"o n e":'), 'services.o n e', 'must be a name of 1 to 64'],
  ['an empty profile', one('profile: ""'), 'services.one.profile must not be empty'],
  [
    'an impossible pace',
    one('submitsPerSecond: 0'),
    'services.one.submitsPerSecond must be a number above 0',
  ],
  ['an impossible policy', one('onLostSubmit: retry'), 'services.one.onLostSubmit must be one of hold'],
  ['another default', `${one('')}\ndefault: two`, 'default must be one of the services: one'],
  ['no YAML', 'services: [', 'not YAML'],
])('a file with %s is refused, with the path of the mistake', (_what, content, ...problems) => {
  const message = problemOf(() => read(content));
  expect(message).toMatch(/^VIDEOGEN_SERVICES_FILE names a file /);
  for (const problem of problems) expect(message).toContain(problem);
});

const NOT_ITSELF = 'must say where the key is, and must not be the key itself';
test.each([
  ['instead of where it is', withKey(`key: ${KEY}`), `services.one.key ${NOT_ITSELF}`],
  ['as one of several', withKey(`key: [${KEY}]`), `services.one.key ${NOT_ITSELF}`],
  ['as a variable', withKey(`key: { env: ${KEY} }`), `services.one.key.env ${NOT_ITSELF}`],
  [
    'in capitals, as a variable',
    withKey('key: { env: AKIA1234567890ABCDEFGHIJ }'),
    `services.one.key.env ${NOT_ITSELF}`,
  ],
  [
    'next to the address',
    one(`apiKey: ${KEY}`),
    'services.one.apiKey is not known, there can be baseUrl, aiSdk, profile, key',
  ],
  ['next to the services', `${one('')}\nkeys: { main: ${KEY} }`, 'keys is not known, there can be services'],
])(
  'a key written into the file %s is refused, with advice and without showing it',
  (_how, content, problem) => {
    const message = problemOf(() => read(content));
    expect(message).toContain(problem);
    for (const secret of [KEY, 'AKIA1234567890']) expect(message).not.toContain(secret);
  },
);

test('the file of a key is read at every call, so that the key can be rotated', () => {
  const key = keyReader({ name: 'fal', key: { file: join(folder, 'main.key') } }, {});
  expect(key()).toBe(KEY);
  writeFileSync(join(folder, 'main.key'), 'sk-rotated');
  expect(key()).toBe('sk-rotated');
  writeFileSync(join(folder, 'main.key'), KEY);
});

test('a key that is missing is named by its place, and what else can be read is hidden', () => {
  const mine = { name: 'mine', key: { env: 'MINE_KEY' } };
  expect(problemOf(() => keyReader(mine, {}))).toBe(
    'services.mine.key of VIDEOGEN_SERVICES_FILE names MINE_KEY, which is not set: put the key there as the service gave it, on one line.',
  );
  const spaced = problemOf(() => keyReader(mine, { MINE_KEY: 'two words' }));
  expect(spaced).toContain('which holds a space');
  expect(spaced).not.toContain('two words');
  expect(readableKeys(envWith(TWO))).toEqual([KEY, KEY]);
});

test('those who start jobs learn names and request fields, and no key', () => {
  const known = readSetting('VIDEOGEN_SERVICES_FILE', envWith(TWO, { MINE_KEY: KEY }));
  expect(known).toMatchObject({
    default: 'fal-seedance',
    services: { 'fal-seedance': {}, mine: { requestFields: ['model'] } },
  });
  expect(JSON.stringify(known)).not.toContain(KEY);
});

test('on one machine, jobs for other services have another task queue; keys and limits make no difference', () => {
  const queueOf = (content: string, more = {}) =>
    localTaskQueue({ VIDEOGEN_STORAGE: folder, ...envWith(content, more) });
  const queue = queueOf(one(''));
  expect(queueOf(one('submitsPerSecond: 2').replace('MAIN_KEY', 'OTHER_KEY'))).toBe(queue);
  const others = [
    queueOf(one('').replace('one.example', 'two.example')),
    queueOf(one('').replace('one:', 'two:')),
    queueOf(`${one('')}\ndefault: one`),
    queueOf(one(''), { VIDEO_API_BASE_URL: 'https://x.example.com', VIDEO_API_KEY: 'k' }),
    localTaskQueue({ VIDEOGEN_STORAGE: folder }),
  ];
  expect(new Set([queue, ...others]).size).toBe(6);
});

test('the shipped JSON Schema is that of the file', () => {
  const shipped = JSON.parse(readFileSync(join(__dirname, '../../services.schema.json'), 'utf8'));
  expect(shipped).toEqual(JSON.parse(JSON.stringify(servicesJsonSchema())));
});

test('with a file, no command on this machine falls back to the emulator', () => {
  expect([usesEmulator({}), usesEmulator(envWith(one('')))]).toEqual([true, false]);
});
