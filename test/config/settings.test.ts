import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLogConfig, settingProblems } from '../../src/config/operation-config';
import { resolveWorkerQueues, type WorkerQueueOptions } from '../../src/config/queues';
import type { Environment, Setting } from '../../src/config/read-setting';
import { readSetting, SETTING_NAMES, SETTINGS } from '../../src/config/settings';
import { readStorageConfig } from '../../src/config/storage-config';
import {
  readDataFolder,
  readDeploymentVersion,
  readServerOptions,
  readTemporalAddress,
  readTemporalConfig,
} from '../../src/config/temporal-config';
import { refusal as refusalOf } from './refusal';

const KEY = 'sk-very-secret';
/** No message repeats the key. */
const refusal = (read: () => unknown) => refusalOf(read, { without: KEY });

const ROOT = join(__dirname, '../..');
const all = Object.values(SETTINGS).flatMap((group) => Object.entries<Setting>(group));
type Name = Parameters<typeof readSetting>[0];

describe('the table of settings', () => {
  /** Names of our settings in the code of a folder; comments may show misspelt ones. */
  function namesIn(folder: string): string[] {
    const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    const code = files
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file)));
    const names = code
      .join('\n')
      .replace(/^\s*\/?[/*].*$/gm, '')
      .match(/\bVIDEO(?:_API|GEN)_[A-Z0-9_]*[A-Z0-9]\b/g);
    return [...new Set(names)].sort();
  }

  it('has every variable that a message names', () => {
    const named = ['src', 'activities', 'workflows'].flatMap(namesIn);
    expect(named.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });
});

it.each<[Name, text: string | undefined, value: unknown]>([
  ['VIDEOGEN_TASK_QUEUE', ' foxes ', 'foxes'],
  ['VIDEOGEN_SUBMITS_PER_SECOND', '0.5', 0.5],
  ['VIDEOGEN_ON_LOST_SUBMIT', '', 'hold'],
  [
    'VIDEOGEN_DOWNLOAD_ALLOW',
    ' CDN.example.com, 10.0.0.7 ,[fd00::1],fd00::2',
    ['cdn.example.com', '10.0.0.7', '[fd00::1]', 'fd00::2'],
  ],
  ['VIDEOGEN_STORAGE', undefined, { kind: 'file', folder: './videos' }],
  ['VIDEOGEN_STORAGE', ' /srv/a: b\n', { kind: 'file', folder: '/srv/a: b' }],
  ['VIDEOGEN_STORAGE', 'FILE:///srv/my%20videos', { kind: 'file', folder: '/srv/my videos' }],
  ['VIDEOGEN_STORAGE', 'C:\\videos', { kind: 'file', folder: 'C:\\videos' }],
  ['VIDEOGEN_STORAGE', 'S3://videos/2026/foxes/', { kind: 's3', bucket: 'videos', prefix: '2026/foxes' }],
  ['VIDEOGEN_LARGEST_VIDEO', '500MB', 500_000_000],
  ['VIDEOGEN_LARGEST_VIDEO', '1.5 gib', 1_610_612_736],
  ['TEMPORAL_TLS', '0', '0'],
  ['VIDEOGEN_S3_PATH_STYLE', ' 1 ', true],
  ['VIDEOGEN_S3_PATH_STYLE', ' ', undefined],
])('%s is read from %j as %j', (name, text, value) => {
  expect(readSetting(name, { [name]: text })).toEqual(value);
});

const STORAGE_FIX =
  'give a folder, an absolute file:// URL such as file:///srv/videos, or s3://bucket/prefix, or unset it for ./videos.';
const NO_FOLDER = 'is a file: URL that names no folder of this machine';
const S3_FIX = 'set it to the address of the S3 server, such as https://s3.example.com, or unset it.';

it.each<[Name, problem: string, texts: string[]]>([
  ['VIDEOGEN_TASK_QUEUE', 'VIDEOGEN_TASK_QUEUE is empty: ', ['', ' ']],
  ['VIDEOGEN_SUBMITS_PER_SECOND', 'give a number above 0', ['0', 'many', 'Infinity']],
  ['VIDEOGEN_ON_LOST_SUBMIT', ': set it to one of hold, resubmit, fail, or unset it', ['retry', 'Hold']],
  [
    'VIDEOGEN_DOWNLOAD_ALLOW',
    'VIDEOGEN_DOWNLOAD_ALLOW has "',
    ['https://minio', 'minio:9000', 'minio,*.example.com', 'a b'],
  ],
  ['VIDEOGEN_STORAGE', `VIDEOGEN_STORAGE is empty: ${STORAGE_FIX}`, ['', ' ']],
  [
    'VIDEOGEN_STORAGE',
    `VIDEOGEN_STORAGE starts with https://, which is not supported: ${STORAGE_FIX}`,
    [`https://user:${KEY}@host/videos`],
  ],
  ['VIDEOGEN_STORAGE', 'starts with file:, which is not supported', ['file:videos']],
  ['VIDEOGEN_STORAGE', NO_FOLDER, ['file://server/videos', 'file:///srv%2Fvideos']],
  ['VIDEOGEN_STORAGE', 'does not name a bucket', ['s3://', 's3://a b/c', 's3://videos/../c']],
  [
    'VIDEOGEN_KEY_TEMPLATE',
    ': give a key inside the storage',
    ['/abs/{ext}', '../{ext}', 'a/', '{workflowid}', '{}', 'a\\b'],
  ],
  ['VIDEOGEN_LARGEST_VIDEO', 'such as 500MB', ['0', '2G', '2 TiB', '1e9']],
  ['TEMPORAL_TLS', 'TEMPORAL_TLS is neither true nor false: ', ['yes', 'True']],
  ['TEMPORAL_DEPLOYMENT_NAME', 'and Temporal takes no dot or colon in it: ', ['videos.eu', 'videos:eu']],
  [
    'VIDEOGEN_S3_PATH_STYLE',
    'VIDEOGEN_S3_PATH_STYLE is "yes", neither true nor false: correct or unset it.',
    ['yes'],
  ],
  ...(['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'] as const).map((name): [Name, string, string[]] => [
    name,
    `${name} is not an http(s) URL without a user: ${S3_FIX}`,
    ['minio:9000', 'ftp://minio', `https://id:${KEY}@minio`],
  ]),
])('%s is refused: %s', (name, problem, texts) => {
  for (const text of texts) expect(refusal(() => readSetting(name, { [name]: text }))).toContain(problem);
});

describe('the problems of an environment', () => {
  it('are none when nothing is set, or only blank', () => {
    expect(settingProblems({})).toEqual([]);
    const mayBeBlank = all.filter(([, { refusesBlank }]) => !refusesBlank);
    expect(settingProblems(Object.fromEntries(mayBeBlank.map(([name]) => [name, ' '])))).toEqual([]);
  });

  it.each([
    ['VIDEO_API_KEY_FILE', '/nowhere/key'],
    ['VIDEOGEN_GATEWAY_HOOK_SECRET_FILE', '/nowhere/secret'],
    ['VIDEOGEN_WEBHOOK_SECRET', 'whsec_c2hvcnQ='],
    ['VIDEOGEN_WEBHOOK_URL', 'https://example.com/webhooks'],
    ['VIDEOGEN_WEBHOOK_ALLOW', 'http://host/path'],
    ['TEMPORAL_ADDRESS', 'user@host:7233'],
    ['VIDEOGEN_SEARCH_ATTRIBUTES', 'maybe'],
    ['VIDEOGEN_MONITOR_PORT', '70000'],
    ['TEMPORAL_WORKER_BUILD_ID', '1'],
  ])('name %s when it is %j, in one line', (name, value) => {
    const problems = settingProblems({ [`${name}`]: value });
    expect(problems).toEqual([expect.stringMatching(/^[A-Z]+_[A-Z0-9_]+\b[^\n]+: [a-z][^\n]+\.$/)]);
    expect(problems[0]).toContain(name);
  });
});

describe('the queues of jobs, submits and downloads', () => {
  it.each<[WorkerQueueOptions, Environment, string[]]>([
    [{}, {}, ['video-generation', 'video-generation-submit', 'video-generation']],
    [{ taskQueue: 'q' }, { VIDEOGEN_DOWNLOAD_QUEUE: ' d ' }, ['q', 'q-submit', 'd']],
    [{ taskQueue: 'q', downloadQueue: 'own' }, { VIDEOGEN_DOWNLOAD_QUEUE: 'd' }, ['q', 'q-submit', 'own']],
  ])('given %j and %j are %j', (options, env, [taskQueue, submitQueue, downloadQueue]) => {
    const queues = { taskQueue, submitQueue, downloadQueue };
    expect(resolveWorkerQueues(options, env)).toEqual({ ...queues, submitsPerSecond: undefined });
  });

  it('are refused if downloads have the queue of the submits', () => {
    expect(refusal(() => resolveWorkerQueues({ taskQueue: 'q', downloadQueue: 'q-submit' }, {}))).toBe(
      'VIDEOGEN_DOWNLOAD_QUEUE is "q-submit", the queue of the submits: name another queue.',
    );
  });
});

it('a storage in S3 uses the connection of the environment, and leaves the rest to the AWS SDK', () => {
  const env = { VIDEOGEN_STORAGE: 's3://videos', AWS_ACCESS_KEY_ID: 'id' };
  const set = {
    AWS_ENDPOINT_URL: 'http://other',
    AWS_ENDPOINT_URL_S3: 'http://minio:9000',
    AWS_DEFAULT_REGION: 'eu-central-1',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: 'token',
  };
  expect(readStorageConfig({ ...env, ...set })).toMatchObject({
    endpoint: 'http://minio:9000',
    region: 'eu-central-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' },
  });
  const nothing = readStorageConfig({ ...env, AWS_REGION: ' ' });
  expect(Object.values(nothing).filter((value) => value !== undefined)).toEqual(['s3', 'videos', '']);
});

it.each<[given: Parameters<typeof readLogConfig>[0], Environment, level: string, format: string]>([
  [{ level: 'info', isTerminal: true }, {}, 'info', 'pretty'],
  [{ level: 'info', isTerminal: true }, { VIDEOGEN_LOG_FORMAT: 'json' }, 'info', 'json'],
  [{ level: 'info', isTerminal: false }, { VIDEOGEN_LOG_LEVEL: ' Debug ' }, 'debug', 'json'],
])('a log with %j and %j has the level %s and the format %s', (given, env, level, format) => {
  expect(readLogConfig(given, env)).toEqual({ level, format });
});

it('a deployment version has a name and a build id, or is missing', () => {
  const read = (TEMPORAL_DEPLOYMENT_NAME: string, TEMPORAL_WORKER_BUILD_ID: string) =>
    readDeploymentVersion({ TEMPORAL_DEPLOYMENT_NAME, TEMPORAL_WORKER_BUILD_ID });
  expect(read('', ' ')).toBeUndefined();
  expect(read(' videos ', ' sha:0a28\n')).toEqual({ deploymentName: 'videos', buildId: 'sha:0a28' });
  for (const [name = '', buildId = ''] of [['videos'], [' ', '1.4.2']])
    expect(refusal(() => read(name, buildId))).toBe(
      'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID are not both set: set both, or neither.',
    );
});

describe("the paths of Temporal's own servers", () => {
  it('have defaults below the home folder when nothing is set, or only blanks', () => {
    for (const env of [{}, { VIDEOGEN_CACHE: ' ', XDG_CACHE_HOME: ' ', VIDEOGEN_DATA: ' ' }]) {
      expect(readServerOptions(env)).toEqual({ cacheFolder: join(homedir(), '.cache', 'temporal-videogen') });
      expect(readDataFolder(env)).toBe(join(homedir(), '.local', 'share', 'temporal-videogen'));
    }
  });

  it('are those of the settings', () => {
    expect(readServerOptions({ XDG_CACHE_HOME: '/c', VIDEOGEN_TEMPORAL_CLI: '/t', PATH: '/bin' })).toEqual({
      cacheFolder: '/c/temporal-videogen',
      temporalCli: '/t',
      searchPath: '/bin',
    });
    const env = { XDG_CACHE_HOME: '/c', VIDEOGEN_CACHE: '/v', VIDEOGEN_TEST_SERVER: '/s' };
    expect(readServerOptions(env)).toEqual({ cacheFolder: '/v', testServer: '/s' });
    expect(readDataFolder({ XDG_DATA_HOME: '/d' })).toBe('/d/temporal-videogen');
    expect(readDataFolder({ XDG_DATA_HOME: '/d', VIDEOGEN_DATA: '/v' })).toBe('/v');
  });
});

describe('TEMPORAL_*', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-settings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const fileWith = (text: string) => {
    writeFileSync(join(folder, 'temporal.toml'), text);
    return join(folder, 'temporal.toml');
  };

  it("keeps the SDK's defaults when nothing is set, or only blanks", () => {
    const blank = { TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: ' ', TEMPORAL_API_KEY: '', TEMPORAL_TLS: '' };
    expect(readTemporalConfig(blank)).toEqual(readTemporalConfig({}));
    expect(readTemporalAddress({ TEMPORAL_ADDRESS: ' ' })).toBeUndefined();
  });

  it('reads the profile of a file; variables take precedence', () => {
    const TEMPORAL_CONFIG_FILE = fileWith(
      '[profile.cloud]\naddress = "cloud:7233"\nnamespace = "n"\n[profile.cloud.grpc_meta]\nteam = "a"\n',
    );
    const env = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'cloud', TEMPORAL_NAMESPACE: 'mine' };
    expect(readTemporalAddress(env)).toBe('cloud:7233');
    const config = readTemporalConfig(env);
    expect([config.namespace, config.connectionOptions.metadata]).toEqual(['mine', { team: 'a' }]);
    expect(Object.isFrozen(config)).toBe(true);
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
    ['TEMPORAL_GRPC_META_X_AUTH', `${KEY}\u0000more`],
    ['TEMPORAL_ADDRESS', `me:${KEY}@temporal.example.com:7233`],
  ])('refuses a %s that no header or address can hold, without quoting it', (name, value) => {
    expect(refusal(() => readTemporalConfig({ [name]: value }))).toMatch(new RegExp(`^${name}, `));
  });

  it.each<[string, () => Environment, RegExp]>([
    [
      'a certificate that is missing',
      () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'none.pem') }),
      /^TEMPORAL_TLS_CLIENT_CERT_PATH .*ENOENT/,
    ],
    [
      'a profile file that is not TOML, without quoting it',
      () => ({ TEMPORAL_CONFIG_FILE: fileWith(`[profile.default]\napi_key = "${KEY}\n`) }),
      /^TEMPORAL_CONFIG_FILE .*Invalid TOML document/,
    ],
  ])('refuses %s', (_what, env, message) => {
    expect(refusal(() => readTemporalConfig(env()))).toMatch(message);
  });
});
