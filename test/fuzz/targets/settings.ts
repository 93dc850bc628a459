import { join } from 'node:path';
import { settingProblems } from '../../../src/config/operation-config';
import { localTaskQueue, resolveWorkerQueues } from '../../../src/config/queues';
import { ConfigError, readServiceConfig } from '../../../src/config/service-config';
import { readSetting, VARIABLES } from '../../../src/config/settings';
import { readDownloadOptions, readStorageConfig } from '../../../src/config/storage-config';
import { readDataFolder, readServerOptions, readTemporalConfig } from '../../../src/config/temporal-config';
import { createVideoService } from '../../../src/service';
import { fc } from '../../support/properties';
import { anyText, edited, fields } from '../hostile';
import { KEY } from '../secrets';
import type { Target } from '../target';

const URLS = ['https://api.example.com', 'http://127.0.0.1:8080/v1/'];
const FLAGS = ['true', 'false', '1', '0', 'yes'];
/** Whoever pastes a key pastes it into the wrong place, or with more than the key. */
const KEYS = [KEY, `${KEY} `, `${KEY}\n`, `"${KEY}"é`, `${KEY}\n${KEY}`, `Bearer ${KEY}`];
const WITH_PASSWORD = `https://me:${encodeURIComponent(KEY)}@example.com`;

const VALUES: Record<string, readonly string[]> = {
  VIDEO_API_BASE_URL: [...URLS, WITH_PASSWORD, `https://example.com?key=${KEY}`],
  VIDEO_API_KEY: KEYS,
  VIDEO_API_KEY_FILE: [KEY, '/dev/null', '/etc'],
  VIDEOGEN_PROFILE: ['kling', 'runway', './no-such.yaml', '/etc', '/dev/zero'],
  VIDEOGEN_ON_LOST_SUBMIT: ['hold', 'resubmit', 'fail'],
  VIDEOGEN_DOWNLOAD_ALLOW: ['cdn.example.com', 'a,b, ,c', '[::1]'],
  VIDEOGEN_TASK_QUEUE: ['films'],
  VIDEOGEN_DOWNLOAD_QUEUE: ['films-downloads', 'films-submit'],
  VIDEOGEN_SUBMITS_PER_SECOND: ['2', '0.5', '-1'],
  VIDEOGEN_STORAGE: ['./videos', 'file:///srv/videos', 's3://bucket/prefix', 'gs://bucket', 's3://b//'],
  VIDEOGEN_KEY_TEMPLATE: ['{date}/{workflowId}.{ext}', '../{taskId}', 'jobs/x'],
  VIDEOGEN_LARGEST_VIDEO: ['500MB', '2GiB', '0.1', '1e3'],
  VIDEOGEN_S3_PATH_STYLE: FLAGS,
  VIDEOGEN_SEARCH_ATTRIBUTES: FLAGS,
  TEMPORAL_DEPLOYMENT_NAME: ['videos', 'a.b'],
  TEMPORAL_WORKER_BUILD_ID: ['1.0'],
  VIDEOGEN_DATA: ['/no/such/folder', 'a?b'],
  AWS_ENDPOINT_URL_S3: [...URLS, WITH_PASSWORD],
  AWS_SECRET_ACCESS_KEY: KEYS,
  TEMPORAL_ADDRESS: ['127.0.0.1:7233', `me:${KEY}@example.com:7233`],
  TEMPORAL_NAMESPACE: ['default'],
  TEMPORAL_API_KEY: KEYS,
  TEMPORAL_TLS: FLAGS,
  TEMPORAL_CONFIG_FILE: ['/no/such/file'],
  TEMPORAL_PROFILE: ['other'],
  TEMPORAL_GRPC_META_X_KEY: KEYS,
  TEMPORAL_TLS_CLIENT_CERT_PATH: ['/no/such/file'],
};

/** Their values are shown nowhere, so anything may be in them. */
const NAMES = [...new Set([...Object.keys(VALUES), ...VARIABLES])];

const environment: fc.Arbitrary<Record<string, string>> = fc
  .tuple(
    // Most variables are unset.
    fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 8 }),
    fields(VALUES, anyText, fc.constantFrom(...NAMES).chain(edited)),
  )
  .map(([names, values]) =>
    Object.fromEntries(
      Object.entries(values)
        // No variable can contain NUL.
        .map(([name, value]) => [name.replaceAll('\0', ''), value.replaceAll('\0', '')] as const)
        .filter(([name]) => names.includes(name) || !NAMES.includes(name)),
    ),
  );

const READERS: readonly ((env: Record<string, string>) => unknown)[] = [
  readServiceConfig,
  (env) => readSetting('VIDEOGEN_ON_LOST_SUBMIT', env),
  readStorageConfig,
  readDownloadOptions,
  readTemporalConfig,
  readServerOptions,
  readDataFolder,
  localTaskQueue,
  (env) => resolveWorkerQueues({}, env),
];

export const settings: Target<Record<string, string>> = {
  inputs: environment,
  plain: { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: KEY },
  inSuite: 80,
  async feed(given, folder) {
    const env = { VIDEOGEN_DATA: join(folder, 'data'), ...given };
    const context = { env, temporal: Promise.resolve({ kind: 'none' } as const) };
    // The commands are tried without checks.
    const { CHECKS } = jest.requireActual<typeof import('../../../src/cli/doctor/checks')>(
      '../../../src/cli/doctor/checks',
    );
    const finding = await CHECKS.settings?.run(context);
    const texts = [
      ...settingProblems(env),
      ...(finding?.fix ? [finding.found, finding.fix] : []),
      ...READERS.flatMap((read) => problemOf(() => read(env))),
    ];
    const [service] = resultOf(() => createVideoService(readServiceConfig(env)));
    await service?.close();
    return { texts, refused: settingProblems(env).length > 0 };
  },
};

function resultOf<T>(read: () => T): T[] {
  try {
    return [read()];
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

function problemOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
