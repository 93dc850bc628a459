import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, namesAService, readServiceConfig } from '../../src/config/service-config';
import { readSecret, readSetting } from '../../src/config/settings';
import {
  readDataFolder,
  readDeploymentVersion,
  readServerOptions,
  readTemporalAddress,
  readTemporalConfig,
} from '../../src/config/temporal-config';
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
    ['https://api.example.com', 'https://api.example.com/'],
    ['https://api.example.com/', 'https://api.example.com/'],
    ['http://localhost:8080', 'http://localhost:8080/'],
    ['https://example.com/video/api', 'https://example.com/video/api'],
    ['https://example.com/video///', 'https://example.com/video///'],
    [' https://api.example.com\n', 'https://api.example.com/'],
    ['HTTPS://API.EXAMPLE.COM', 'https://api.example.com/'],
  ])('%j is read as %j', (given, baseUrl) => {
    expect(read(given)).toBe(baseUrl);
  });

  it.each([
    [undefined, 'is not set'],
    ['', 'is not set'],
    [' ', 'is not set'],
    ['api.example.com', 'is not an http(s) URL'],
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
  const read = (key?: string) => readServiceConfig({ ...BASE, VIDEO_API_KEY: key }).apiKey();

  it('is returned by a function, so that no printed configuration contains it', () => {
    const config = readServiceConfig(BASE);
    expect(config.apiKey()).toBe(KEY);
    expect(JSON.stringify(config)).not.toContain(KEY);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('is trimmed', () => {
    expect(read(` ${KEY}\n`)).toBe(KEY);
  });

  it('is refused when it is not set, with both ways to set it', () => {
    const message = refusal(() => read());
    expect(message).toMatch(/^VIDEO_API_KEY is not set: .*VIDEO_API_KEY_FILE/);
  });

  it.each(['', ' ', '\n'])('%j is refused as empty', (key) => {
    expect(refusal(() => read(key))).toMatch(/^VIDEO_API_KEY is empty: /);
  });

  it.each([
    `${KEY}\nX-Admin: 1`,
    `${KEY}\r\n${KEY}`,
    `Bearer ${KEY}`,
    `${KEY}\u00e9`,
    `${KEY}\u0000x`,
    `“${KEY}”`,
  ])('%j is refused, and not quoted', (key) => {
    expect(refusal(() => read(key))).toMatch(/^VIDEO_API_KEY holds a space, a line break or .* ASCII: /);
  });
});

describe('VIDEO_API_KEY_FILE', () => {
  const read = (file: string, key?: string) =>
    readServiceConfig({ ...BASE, VIDEO_API_KEY: key, VIDEO_API_KEY_FILE: file });

  it.each([KEY, `${KEY}\n`, `${KEY}\r\n`, ` ${KEY} \n\n`])('names a file that holds %j', (text) => {
    expect(read(fileWith('key', text)).apiKey()).toBe(KEY);
  });

  it('is read again at the next call, so that the key can be rotated', () => {
    const file = fileWith('key', 'sk-old');
    const { apiKey } = read(file);
    expect(apiKey()).toBe('sk-old');
    writeFileSync(file, 'sk-new\n');
    expect(apiKey()).toBe('sk-new');
    rmSync(file);
    expect(refusal(apiKey)).toMatch(/^VIDEO_API_KEY_FILE .*\(ENOENT\)/);
    writeFileSync(file, 'sk-newer\n');
    expect(apiKey()).toBe('sk-newer');
  });

  it('is refused together with VIDEO_API_KEY', () => {
    expect(refusal(() => read(fileWith('key', KEY), KEY))).toBe(
      'VIDEO_API_KEY and VIDEO_API_KEY_FILE are both set: unset one of them.',
    );
  });

  it('is used when VIDEO_API_KEY is blank, as in a compose file, and the other way round', () => {
    expect(read(fileWith('key', KEY), '').apiKey()).toBe(KEY);
    expect(read('', KEY).apiKey()).toBe(KEY);
  });

  it('is refused when the file is missing', () => {
    expect(refusal(() => read(join(folder, 'none')))).toMatch(/^VIDEO_API_KEY_FILE names .*\(ENOENT\): /);
  });

  it('is refused when it names a folder', () => {
    expect(refusal(() => read(folder))).toMatch(/^VIDEO_API_KEY_FILE names .*\(EISDIR\): /);
  });

  it.each(['', '\n'])('is refused when the file is empty: %j', (text) => {
    expect(refusal(() => read(fileWith('key', text)))).toMatch(/^VIDEO_API_KEY_FILE is empty: /);
  });

  it.each([`${KEY}\n${KEY}`, `VIDEO_API_KEY = ${KEY}`])(
    'names a file that holds more than a key: %j',
    (text) => {
      expect(refusal(() => read(fileWith('key', text)))).toMatch(/^VIDEO_API_KEY_FILE holds a space/);
    },
  );

  it('is not quoted, because some people put the key itself there', () => {
    expect(refusal(() => read(KEY))).toMatch(/^VIDEO_API_KEY_FILE names a file that cannot be read/);
  });
});

describe('VIDEOGEN_ON_LOST_SUBMIT', () => {
  it.each([
    [undefined, 'hold'],
    ['', 'hold'],
    ['hold', 'hold'],
    [' resubmit ', 'resubmit'],
    ['fail', 'fail'],
  ])('%j means %s', (VIDEOGEN_ON_LOST_SUBMIT, policy) => {
    expect(readSetting('VIDEOGEN_ON_LOST_SUBMIT', { VIDEOGEN_ON_LOST_SUBMIT })).toBe(policy);
  });

  it.each(['retry', 'Hold', 'true'])('%j is refused', (VIDEOGEN_ON_LOST_SUBMIT) => {
    expect(refusal(() => readSetting('VIDEOGEN_ON_LOST_SUBMIT', { VIDEOGEN_ON_LOST_SUBMIT }))).toMatch(
      /: set it to one of hold, resubmit, fail, or unset it/,
    );
  });
});

const NOT_BOTH =
  /^TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID are not both set: set both, or neither\.$/;

describe('TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID', () => {
  const read = (TEMPORAL_DEPLOYMENT_NAME?: string, TEMPORAL_WORKER_BUILD_ID?: string) =>
    readDeploymentVersion({ TEMPORAL_DEPLOYMENT_NAME, TEMPORAL_WORKER_BUILD_ID });

  it.each([
    [undefined, undefined, undefined],
    ['', ' ', undefined],
    ['videos', '1.4.2', { deploymentName: 'videos', buildId: '1.4.2' }],
    [' videos ', ' sha:0a28\n', { deploymentName: 'videos', buildId: 'sha:0a28' }],
  ])('%j and %j mean %j', (deploymentName, buildId, version) => {
    expect(read(deploymentName, buildId)).toEqual(version);
  });

  it.each([
    ['videos', '', NOT_BOTH],
    [' ', '1.4.2', NOT_BOTH],
    [
      'videos.eu',
      '1',
      /^TEMPORAL_DEPLOYMENT_NAME is "videos\.eu", and Temporal takes no dot or colon in it: /,
    ],
    ['videos:eu', '1', /^TEMPORAL_DEPLOYMENT_NAME is "videos:eu", /],
  ])('%j and %j are refused', (deploymentName, buildId, message) => {
    expect(refusal(() => read(deploymentName, buildId))).toMatch(message);
  });
});

describe('VIDEOGEN_DOWNLOAD_ALLOW', () => {
  const read = (VIDEOGEN_DOWNLOAD_ALLOW?: string) =>
    readServiceConfig({ ...BASE, VIDEOGEN_DOWNLOAD_ALLOW }).downloadAllow;

  it.each([
    [undefined, undefined],
    [' , ', undefined],
    ['minio', ['minio']],
    [
      ' CDN.example.com, 10.0.0.7 ,[fd00::1],fd00::2',
      ['cdn.example.com', '10.0.0.7', '[fd00::1]', 'fd00::2'],
    ],
  ])('%j is read as %j', (given, hosts) => {
    expect(read(given)).toEqual(hosts);
  });

  it.each(['https://minio', 'minio:9000', 'minio/videos', '*.example.com', 'a b'])(
    '%j is refused',
    (host) => {
      expect(refusal(() => read(`minio,${host}`))).toContain(
        `VIDEOGEN_DOWNLOAD_ALLOW has ${JSON.stringify(host)} in it`,
      );
    },
  );
});

describe('TEMPORAL_*', () => {
  it('passes the address and the namespace through', () => {
    const config = readTemporalConfig({
      TEMPORAL_ADDRESS: 'temporal.example.com:7233',
      TEMPORAL_NAMESPACE: 'foxes',
    });
    expect(config.namespace).toBe('foxes');
    expect(config.connectionOptions.address).toBe('temporal.example.com:7233');
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("keeps the SDK's defaults when nothing is set, or only blanks", () => {
    const blank = { TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: ' ', TEMPORAL_API_KEY: '', TEMPORAL_TLS: '' };
    expect(readTemporalConfig(blank)).toEqual(readTemporalConfig({}));
    expect(readTemporalConfig({}).connectionOptions.address).toBeUndefined();
  });

  it('reads the profile of a file; variables take precedence', () => {
    const TEMPORAL_CONFIG_FILE = fileWith(
      'temporal.toml',
      '[profile.cloud]\naddress = "cloud:7233"\nnamespace = "n"\n[profile.cloud.grpc_meta]\nteam = "a"\n',
    );
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'cloud', TEMPORAL_NAMESPACE: 'mine' };
    const { namespace, connectionOptions } = readTemporalConfig(env);
    expect([namespace, connectionOptions.address, connectionOptions.metadata]).toEqual([
      'mine',
      'cloud:7233',
      { team: 'a' },
    ]);
    const withoutTeam = readTemporalConfig({ ...env, TEMPORAL_GRPC_META_TEAM: '' });
    expect(withoutTeam.connectionOptions.metadata).toEqual({});
  });

  it('uses TLS when an API key is set', () => {
    expect(readTemporalConfig({ TEMPORAL_API_KEY: KEY }).connectionOptions).toMatchObject({
      apiKey: KEY,
      tls: true,
    });
  });

  it('trims an API key and headers, which may end with the line break of a file', () => {
    const env = { TEMPORAL_API_KEY: `${KEY}\r\n`, TEMPORAL_GRPC_META_TEAM: 'a b\n' };
    expect(readTemporalConfig(env).connectionOptions).toMatchObject({
      apiKey: KEY,
      metadata: { team: 'a b' },
    });
  });

  it.each([
    ['TEMPORAL_API_KEY', `${KEY}\nmore`],
    ['TEMPORAL_API_KEY', `${KEY}\u0007`],
    ['TEMPORAL_API_KEY', `${KEY}é`],
    ['TEMPORAL_GRPC_META_AUTH', `${KEY}\nmore`],
    ['TEMPORAL_GRPC_META_X_AUTH', `${KEY}\u0000more`],
    ['TEMPORAL_ADDRESS', `me:${KEY}@temporal.example.com:7233`],
    ['TEMPORAL_ADDRESS', `https://${KEY}@temporal.example.com:7233`],
    ['TEMPORAL_ADDRESS', `temporal.example.com:7233?token=${KEY}`],
    ['TEMPORAL_ADDRESS', `temporal.example.com:7233\n${KEY}`],
  ])('refuses a %s that no header or address can hold, without quoting it', (name, value) => {
    expect(refusal(() => readTemporalConfig({ [name]: value }))).toMatch(new RegExp(`^${name}, `));
  });

  it('TEMPORAL_TLS is true or false, nothing else', () => {
    for (const fine of ['true', 'false', '1', '0'])
      expect(() => readTemporalConfig({ TEMPORAL_TLS: fine })).not.toThrow();
    for (const wrong of ['yes', 'True', 'on']) {
      expect(refusal(() => readTemporalConfig({ TEMPORAL_TLS: wrong }))).toMatch(
        'TEMPORAL_TLS is neither true nor false: ',
      );
    }
  });

  it.each<[string, (folder: string) => Environment, RegExp]>([
    [
      'a file that does not exist',
      (at) => ({ TEMPORAL_CONFIG_FILE: join(at, 'none.toml') }),
      /^TEMPORAL_CONFIG_FILE names a file that does not exist/,
    ],
    ['a folder for a file', (at) => ({ TEMPORAL_CONFIG_FILE: at }), /^TEMPORAL_CONFIG_FILE .*EISDIR/],
    [
      'a profile that is unknown',
      () => ({ TEMPORAL_PROFILE: 'nope' }),
      /^TEMPORAL_PROFILE .*'nope' not found/,
    ],
    [
      'a certificate that is missing',
      (at) => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: join(at, 'none.pem') }),
      /^TEMPORAL_TLS_CLIENT_CERT_PATH .*ENOENT/,
    ],
  ])('refuses %s', (_what, env, message) => {
    expect(refusal(() => readTemporalConfig(env(folder)))).toMatch(message);
  });

  it('refuses a profile file that is not TOML without quoting it', () => {
    const TEMPORAL_CONFIG_FILE = fileWith('temporal.toml', `[profile.default]\napi_key = "${KEY}\n`);
    expect(refusal(() => readTemporalConfig({ TEMPORAL_CONFIG_FILE }))).toMatch(
      /^TEMPORAL_CONFIG_FILE .*Invalid TOML document/,
    );
  });
});

describe("the paths of Temporal's servers", () => {
  it('have defaults below the home folder when nothing is set, or only blanks', () => {
    const cacheFolder = join(homedir(), '.cache', 'temporal-videogen');
    expect(readServerOptions({})).toEqual({ cacheFolder });
    const blank = {
      VIDEOGEN_CACHE: '',
      XDG_CACHE_HOME: '',
      VIDEOGEN_TEMPORAL_CLI: '',
      VIDEOGEN_TEST_SERVER: '',
    };
    expect(readServerOptions(blank)).toEqual({ cacheFolder });
  });

  it('are those of the settings', () => {
    expect(readServerOptions({ XDG_CACHE_HOME: '/c', VIDEOGEN_TEMPORAL_CLI: '/t', PATH: '/bin' })).toEqual({
      cacheFolder: '/c/temporal-videogen',
      temporalCli: '/t',
      searchPath: '/bin',
    });
    expect(
      readServerOptions({ XDG_CACHE_HOME: '/c', VIDEOGEN_CACHE: '/v', VIDEOGEN_TEST_SERVER: '/s' }),
    ).toEqual({
      cacheFolder: '/v',
      testServer: '/s',
    });
  });
});

describe("the data folder of this machine's own Temporal server", () => {
  it.each<[Environment, string]>([
    [{}, join(homedir(), '.local', 'share', 'temporal-videogen')],
    [{ VIDEOGEN_DATA: '', XDG_DATA_HOME: ' ' }, join(homedir(), '.local', 'share', 'temporal-videogen')],
    [{ XDG_DATA_HOME: '/d' }, '/d/temporal-videogen'],
    [{ XDG_DATA_HOME: '/d', VIDEOGEN_DATA: '/v' }, '/v'],
  ])('with %j is %s', (env, folder) => {
    expect(readDataFolder(env)).toBe(folder);
  });
});

describe('the environment names', () => {
  it.each<[Environment, string | undefined]>([
    [{}, undefined],
    [{ TEMPORAL_ADDRESS: ' ' }, undefined],
    [{ TEMPORAL_ADDRESS: 'temporal:7233' }, 'temporal:7233'],
  ])('a Temporal server by its address: %j', (env, address) => {
    expect(readTemporalAddress(env)).toBe(address);
  });

  it('a Temporal server by a profile too', () => {
    const TEMPORAL_CONFIG_FILE = fileWith('temporal.toml', '[profile.default]\naddress = "cloud:7233"\n');
    expect(readTemporalAddress({ TEMPORAL_CONFIG_FILE })).toBe('cloud:7233');
  });

  it.each<[Environment, boolean]>([
    [{}, false],
    [{ VIDEO_API_BASE_URL: ' ' }, false],
    [{ VIDEO_API_KEY: KEY }, false],
    [{ VIDEO_API_BASE_URL: 'not a URL' }, true],
  ])('a video service by its address: %j', (env, named) => {
    expect(namesAService(env)).toBe(named);
  });
});

describe("the emulator's key", () => {
  it('is none when nothing is set, or only blanks', () => {
    expect(readSecret('VIDEO_API_KEY', {})?.()).toBeUndefined();
    expect(readSecret('VIDEO_API_KEY', { VIDEO_API_KEY: '', VIDEO_API_KEY_FILE: ' ' })?.()).toBeUndefined();
  });

  it('is the one in the variable or in the file', () => {
    expect(readSecret('VIDEO_API_KEY', { VIDEO_API_KEY: ` ${KEY}` })?.()).toBe(KEY);
    expect(readSecret('VIDEO_API_KEY', { VIDEO_API_KEY_FILE: fileWith('key', `${KEY}\n`) })?.()).toBe(KEY);
  });

  it('follows the rules of every key', () => {
    expect(refusal(() => readSecret('VIDEO_API_KEY', { VIDEO_API_KEY: `${KEY} x` })?.())).toMatch(
      /^VIDEO_API_KEY holds a space/,
    );
    expect(
      refusal(() => readSecret('VIDEO_API_KEY', { VIDEO_API_KEY_FILE: join(folder, 'none') })?.()),
    ).toMatch('ENOENT');
    expect(
      refusal(() => readSecret('VIDEO_API_KEY', { VIDEO_API_KEY: KEY, VIDEO_API_KEY_FILE: 'x' })?.()),
    ).toMatch('both set');
  });
});

describe('VIDEOGEN_PROFILE', () => {
  it('is none unless set', () => {
    expect(readServiceConfig(BASE)).not.toHaveProperty('profile');
    expect(readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: ' ' })).toBeUndefined();
  });

  it('may name a built-in profile', () => {
    expect(readServiceConfig({ ...BASE, VIDEOGEN_PROFILE: 'openai' }).profile).toMatchObject({
      video: { path: '/v1/videos/{taskId}/content' },
    });
  });

  it.each([
    ['profile.json', '{"read":{"taskId":"ticket.no"}}'],
    ['profile.yaml', '# ours\nread:\n  taskId: ticket.no\n'],
  ])('may be the file %s', (name, content) => {
    expect(readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: fileWith(name, content) })).toEqual({
      read: { taskId: 'ticket.no' },
    });
  });

  it.each([
    ['a misspelt field', 'read:\n  taskID: x\n', 'read.taskID is not known'],
    ['an empty file', '', 'the profile must be an object with name, paths'],
    ['a list', '- a\n', 'the profile must be an object with name, paths'],
    ['text that is not YAML', 'read: [\n', 'names a file that is not YAML'],
  ])('with %s is refused', (_what, content, problem) => {
    const file = fileWith('profile.yaml', content);
    expect(refusal(() => readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: file }))).toContain(problem);
  });

  it('that is not a file is refused with the names of the built-in profiles', () => {
    const message = refusal(() => readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: 'sora' }));
    expect(message).toContain('openai');
    expect(message).toContain('ENOENT');
  });
});
