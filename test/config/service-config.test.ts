import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, readApiKey, readServiceConfig } from '../../src/config/service-config';
import { readSecret, readSetting } from '../../src/config/settings';
import { readTemporalAddress, readTemporalConfig } from '../../src/config/temporal-config';
import { refusal as refusalOf } from './refusal';

const KEY = 'sk-very-secret';
const BASE = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: KEY };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-config-'));
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
    ['http://localhost:8080', 'http://localhost:8080/'],
    ['https://example.com/video///', 'https://example.com/video///'],
    [' https://api.example.com\n', 'https://api.example.com/'],
    ['HTTPS://API.EXAMPLE.COM', 'https://api.example.com/'],
  ])('%j is read as %j', (given, baseUrl) => {
    expect(read(given)).toBe(baseUrl);
  });

  it.each([
    [undefined, 'is not set'],
    [' ', 'is not set'],
    ['localhost:8080', 'is not an http(s) URL'],
    ['ftp://example.com', 'is not an http(s) URL'],
    ['https://', 'is not an http(s) URL'],
    ['https://example.com?key=1', 'has a user, a query or a fragment'],
    ['https://example.com#v1', 'has a user, a query or a fragment'],
    ['https://ann:hunter2@example.com', 'has a user, a query or a fragment'],
    ['https://hunter2@example.com', 'has a user, a query or a fragment'],
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
    ['', /^VIDEO_API_KEY is empty: /],
    ['\n', /^VIDEO_API_KEY is empty: /],
    ...[`${KEY}\nX-Admin: 1`, `Bearer ${KEY}`, `${KEY}\u00e9`, `${KEY}\u0000x`, `“${KEY}”`].map(
      (key): [string, RegExp] => [key, /^VIDEO_API_KEY holds a space, a line break or .* ASCII: /],
    ),
  ])('is refused without being quoted: %j', (key, problem) => {
    expect(refusal(() => read(key))).toMatch(problem);
  });

  it.each([`${KEY}\r\n`, ` ${KEY} \n\n`])('may be in a file that holds %j', (text) => {
    expect(read(undefined, fileWith('key', text)).apiKey()).toBe(KEY);
  });

  it('in a file is read again at the next call, so that it can be rotated', () => {
    const file = fileWith('key', 'sk-old');
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

  it.each<[what: string, text: string | undefined, problem: RegExp]>([
    ['missing', undefined, /^VIDEO_API_KEY_FILE names .*\(ENOENT\): /],
    ['empty', '\n', /^VIDEO_API_KEY_FILE is empty: /],
    ['one with more than a key', `VIDEO_API_KEY = ${KEY}`, /^VIDEO_API_KEY_FILE holds a space/],
  ])('is refused when its file is %s', (_what, text, problem) => {
    const file = text === undefined ? join(folder, 'none') : fileWith('key', text);
    expect(refusal(() => read(undefined, file))).toMatch(problem);
  });

  it('that was put where the name of its file belongs is not quoted', () => {
    expect(refusal(() => read(undefined, KEY))).toMatch(
      /^VIDEO_API_KEY_FILE names a file that cannot be read/,
    );
  });

  it('of the emulator may be missing, and follows the same rules', () => {
    const readIt = (env: Environment) => readSecret('VIDEO_API_KEY', env)?.();
    expect(readIt({ VIDEO_API_KEY: '', VIDEO_API_KEY_FILE: ' ' })).toBeUndefined();
    expect(readIt({ VIDEO_API_KEY_FILE: fileWith('key', `${KEY}\n`) })).toBe(KEY);
    expect(refusal(() => readIt({ VIDEO_API_KEY: `${KEY} x` }))).toMatch(/^VIDEO_API_KEY holds a space/);
    expect(refusal(() => readIt({ VIDEO_API_KEY: KEY, VIDEO_API_KEY_FILE: 'x' }))).toMatch('both set');
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

describe('TEMPORAL_*', () => {
  it('passes the address and the namespace through', () => {
    const config = readTemporalConfig({
      TEMPORAL_ADDRESS: 'temporal.example.com:7233',
      TEMPORAL_NAMESPACE: 'foxes',
    });
    expect([config.namespace, config.connectionOptions.address]).toEqual([
      'foxes',
      'temporal.example.com:7233',
    ]);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("keeps the SDK's defaults when nothing is set, or only blanks", () => {
    const blank = { TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: ' ', TEMPORAL_API_KEY: '', TEMPORAL_TLS: '' };
    expect(readTemporalConfig(blank)).toEqual(readTemporalConfig({}));
    expect(readTemporalAddress({ TEMPORAL_ADDRESS: ' ' })).toBeUndefined();
  });

  it('reads the profile of a file; variables take precedence', () => {
    const TEMPORAL_CONFIG_FILE = fileWith(
      'temporal.toml',
      '[profile.cloud]\naddress = "cloud:7233"\nnamespace = "n"\n[profile.cloud.grpc_meta]\nteam = "a"\n',
    );
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'cloud', TEMPORAL_NAMESPACE: 'mine' };
    expect(readTemporalAddress(env)).toBe('cloud:7233');
    const { namespace, connectionOptions } = readTemporalConfig(env);
    expect([namespace, connectionOptions.metadata]).toEqual(['mine', { team: 'a' }]);
    const withoutTeam = readTemporalConfig({ ...env, TEMPORAL_GRPC_META_TEAM: '' });
    expect(withoutTeam.connectionOptions.metadata).toEqual({});
  });

  it('uses TLS with an API key, and trims key and headers, which may end with the line break of a file', () => {
    const env = { TEMPORAL_API_KEY: `${KEY}\r\n`, TEMPORAL_GRPC_META_TEAM: 'a b\n' };
    expect(readTemporalConfig(env).connectionOptions).toMatchObject({
      apiKey: KEY,
      tls: true,
      metadata: { team: 'a b' },
    });
  });

  it.each([
    ['TEMPORAL_API_KEY', `${KEY}\nmore`],
    ['TEMPORAL_API_KEY', `${KEY}é`],
    ['TEMPORAL_GRPC_META_AUTH', `${KEY}\nmore`],
    ['TEMPORAL_GRPC_META_X_AUTH', `${KEY}\u0000more`],
    ['TEMPORAL_ADDRESS', `me:${KEY}@temporal.example.com:7233`],
    ['TEMPORAL_ADDRESS', `temporal.example.com:7233?token=${KEY}`],
    ['TEMPORAL_ADDRESS', `temporal.example.com:7233\n${KEY}`],
  ])('refuses a %s that no header or address can hold, without quoting it', (name, value) => {
    expect(refusal(() => readTemporalConfig({ [name]: value }))).toMatch(new RegExp(`^${name}, `));
  });

  it('has TLS or not, by true or false and nothing else', () => {
    for (const fine of ['true', 'false', '1', '0'])
      expect(() => readTemporalConfig({ TEMPORAL_TLS: fine })).not.toThrow();
    for (const wrong of ['yes', 'True', 'on'])
      expect(refusal(() => readTemporalConfig({ TEMPORAL_TLS: wrong }))).toMatch(
        'TEMPORAL_TLS is neither true nor false: ',
      );
  });

  it.each<[string, () => Environment, RegExp]>([
    [
      'a file that does not exist',
      () => ({ TEMPORAL_CONFIG_FILE: join(folder, 'none.toml') }),
      /^TEMPORAL_CONFIG_FILE names a file that does not exist/,
    ],
    ['a folder for a file', () => ({ TEMPORAL_CONFIG_FILE: folder }), /^TEMPORAL_CONFIG_FILE .*EISDIR/],
    [
      'a profile that is unknown',
      () => ({ TEMPORAL_PROFILE: 'nope' }),
      /^TEMPORAL_PROFILE .*'nope' not found/,
    ],
    [
      'a certificate that is missing',
      () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'none.pem') }),
      /^TEMPORAL_TLS_CLIENT_CERT_PATH .*ENOENT/,
    ],
    [
      'a profile file that is not TOML, without quoting it',
      () => ({ TEMPORAL_CONFIG_FILE: fileWith('temporal.toml', `[profile.default]\napi_key = "${KEY}\n`) }),
      /^TEMPORAL_CONFIG_FILE .*Invalid TOML document/,
    ],
  ])('refuses %s', (_what, env, message) => {
    expect(refusal(() => readTemporalConfig(env()))).toMatch(message);
  });
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

  it.each([
    ['profile.json', '{"read":{"taskId":"ticket.no"}}'],
    ['profile.yaml', '# ours\nread:\n  taskId: ticket.no\n'],
  ])('may be the file %s', (name, content) => {
    expect(read(fileWith(name, content))).toEqual({ read: { taskId: 'ticket.no' } });
  });

  it.each([
    ['a misspelt field', 'read:\n  taskID: x\n', 'read.taskID is not known'],
    ['nothing in it', '', 'the profile must be an object with name, paths'],
    ['a list', '- a\n', 'the profile must be an object with name, paths'],
    ['text that is not YAML', 'read: [\n', 'names a file that is not YAML'],
  ])('that is a file with %s is refused', (_what, content, problem) => {
    expect(refusal(() => read(fileWith('profile.yaml', content)))).toContain(problem);
  });

  it('that is not a file is refused with the names of the built-in profiles', () => {
    const message = refusal(() => read('sora'));
    expect(message).toContain('openai');
    expect(message).toContain('ENOENT');
  });
});
