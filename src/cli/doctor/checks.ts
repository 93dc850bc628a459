import { version as sdkVersion } from '@temporalio/client/package.json';
import { orUnreachable } from '../../client/connect';
import { searchAttributeProblem } from '../../client/search-attributes';
import { readEncryptionKeys, settingProblems } from '../../config/operation-config';
import { packageManifest } from '../../config/package-manifest';
import { resolveWorkerQueues } from '../../config/queues';
import { withoutBlanks } from '../../config/read-setting';
import { type Environment, usesEmulator } from '../../config/service-config';
import { readSetting, SETTING_NAMES } from '../../config/settings';
import { readStorageConfig } from '../../config/storage-config';
import { readServerOptions, readTemporalConfig } from '../../config/temporal-config';
import { inShell, shown } from '../../contract/clean-text';
import { describeDuration } from '../../contract/duration';
import { codeOf, firstLineOf, GRPC_STATUS } from '../../contract/error-code';
import { TASK_QUEUE_TYPES } from '../../contract/names';
import { createStorage, StorageUnusable, storageAddress } from '../../storage';
import { findServerAtHand } from '../../temporal-server';
import { CALL_LIMIT_MS, withinCall } from '../find-temporal';
import { findUnreadableJob } from '../missing-worker';
import { type Context, checkService, type Finding, failed, ok, warning } from './check-service';

export interface Check {
  /** If one of these checks fails, this one is skipped. They come earlier in the table. */
  needs?: readonly string[];
  /** A ConfigError means that the check is skipped: the settings check reports it. */
  run(context: Context): Promise<Finding>;
}

const SERVER: Check['needs'] = ['temporal', 'namespace'];

/** Everything that a job needs, in the order of the report. */
export const CHECKS: Readonly<Record<string, Check>> = {
  versions: { run: checkVersions },
  settings: { run: checkSettings },
  temporal: { run: checkTemporal },
  namespace: { needs: ['temporal'], run: checkNamespace },
  encryption: { needs: SERVER, run: checkEncryption },
  workers: { needs: SERVER, run: checkWorkers },
  service: { run: checkService },
  storage: { run: checkStorage },
};

async function checkVersions({ temporal }: Context): Promise<Finding> {
  const server = await temporal.catch(() => undefined);
  const { version } = packageManifest();
  const ours = `Node ${process.versions.node}, temporal-videogen ${version}, Temporal SDK ${sdkVersion}`;
  return ok(server && 'version' in server ? `${ours}, server ${server.version}` : ours);
}

async function checkSettings({ env }: Context): Promise<Finding> {
  const unknown = unknownSettings(env);
  const problems = new Set([
    ...settingProblems(env),
    ...keyWithoutService(env),
    ...unknown.flatMap(({ name, meant }) =>
      meant ? [`${shown(name)} is not a setting: did you mean ${meant}?`] : [],
    ),
  ]);
  if (problems.size > 0) return failed(`invalid: ${problems.size}`, [...problems].join('\n'));
  if (unknown.length === 0) return ok('all are valid');
  // Only a warning: other programs may use them.
  const unused = unknown.map(({ name }) => shown(name)).join(', ');
  return warning(`all are valid; not used: ${unused}`, 'Correct the name, or unset the variable.');
}

/** Temporal's settings that people type. There are more, so only a near miss is reported. */
const TEMPORAL_NAMES = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_API_KEY', 'TEMPORAL_PROFILE'];
const MOST_TYPOS = 2;

/** The variables that are set but not used, each with the one that was probably meant. */
function unknownSettings(env: Environment): { name: string; meant?: string | undefined }[] {
  const known = [...SETTING_NAMES, ...TEMPORAL_NAMES];
  return Object.keys(withoutBlanks(env)).flatMap((name) => {
    if (known.includes(name)) return [];
    const isOurs = /^VIDEO(GEN|_API)_/.test(name);
    const meant = known.find((one) => isNear(one, name)) ?? (isOurs ? sameWords(name) : undefined);
    return isOurs || meant !== undefined ? [{ name, meant }] : [];
  });
}

/** Whether at most this many letters must be added, removed or changed to turn one word into the other. */
function isNear(a: string, b: string, typos = MOST_TYPOS): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const [x, y] = [a.slice(same), b.slice(same)];
  if (x === '' || y === '' || typos === 0) return x.length + y.length <= typos;
  const [fromX, fromY] = [x.slice(1), y.slice(1)];
  const rest = [
    [fromX, y],
    [x, fromY],
    [fromX, fromY],
  ] as const;
  return rest.some(([left, right]) => isNear(left, right, typos - 1));
}

/** A name with some of the words of a setting. */
function sameWords(name: string): string | undefined {
  const wordsOf = (text: string) => text.split('_').filter((word) => !/^(VIDEO|VIDEOGEN)?$/.test(word));
  const words = wordsOf(name);
  if (words.length === 0) return undefined;
  return SETTING_NAMES.find((known) => words.every((word) => wordsOf(known).includes(word)));
}

/** A key without a service is a mistake: the videos would silently come from the emulator. */
function keyWithoutService(env: Environment): string[] {
  const set = withoutBlanks(env);
  const variable = ['VIDEO_API_KEY', 'VIDEO_API_KEY_FILE'].find((name) => set[name] !== undefined);
  if (!usesEmulator(env) || variable === undefined) return [];
  return [
    `${variable} is set, but VIDEO_API_BASE_URL is not: set it to the address of the video service, such as https://api.example.com, or unset ${variable} to use the emulator.`,
  ];
}

async function checkTemporal({ env, temporal }: Context): Promise<Finding> {
  const server = await temporal;
  switch (server.kind) {
    case 'named':
      await connectAsWorker(env);
      return ok(`answers at ${server.address}`);
    case 'local':
      return ok(`answers at ${server.address}, run by \`videogen dev\` or a generate on this machine`);
    case 'silent':
      return failed(
        `no answer from ${server.address} (${server.problem})`,
        server.refused
          ? 'Set TEMPORAL_API_KEY, or the certificate in TEMPORAL_TLS…, to one that the server accepts.'
          : 'Start a server there, or set TEMPORAL_ADDRESS (and TEMPORAL_TLS, if it uses TLS) to one that runs.',
      );
    case 'none': {
      const path = await findServerAtHand(readServerOptions(env));
      const how = path === undefined ? ', which it downloads first, once' : ` with ${path}`;
      return ok(
        `TEMPORAL_ADDRESS is not set and \`videogen dev\` is not running: generate starts a server${how}`,
      );
    }
  }
}

/** The core of a worker has a TLS of its own, which trusts other certificates than the client that has just connected. */
async function connectAsWorker(env: Environment): Promise<void> {
  const { connectionOptions } = readTemporalConfig(env);
  if (!connectionOptions.tls) return;
  const { NativeConnection } = await import('@temporalio/worker');
  const connection = await orUnreachable(connectionOptions, NativeConnection.connect(connectionOptions));
  await connection.close();
}

async function checkNamespace({ env, temporal }: Context): Promise<Finding> {
  const server = await temporal;
  if (!('client' in server)) return ok('generate creates it with its server');
  const { client } = server;
  const { connection, options } = client;
  const { namespace } = options;
  try {
    const { config } = await withinCall(client, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
    const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    const found = `${namespace} retains ended jobs for ${describeDuration(seconds * 1_000)}`;
    // A client that uses them cannot start jobs without them.
    if (!readSetting('VIDEOGEN_SEARCH_ATTRIBUTES', env)) return ok(found);
    const problem = await withinCall(client, () => searchAttributeProblem({ connection, namespace }));
    if (problem === undefined) return ok(`${found}, with search attributes`);
    const fix = 'Register them with: videogen doctor --register; or unset VIDEOGEN_SEARCH_ATTRIBUTES.';
    return failed(problem, fix);
  } catch (error) {
    const create = `temporal operator namespace create --namespace ${inShell(namespace)}`;
    return codeOf(error) === GRPC_STATUS.notFound
      ? failed(
          `there is no namespace ${namespace}`,
          `Create it with: ${create}; or correct TEMPORAL_NAMESPACE.`,
        )
      : failed(
          `${namespace} cannot be read (${firstLineOf(error)})`,
          'Correct TEMPORAL_NAMESPACE or TEMPORAL_API_KEY.',
        );
  }
}

async function checkEncryption({ env, temporal }: Context): Promise<Finding> {
  const ring = readEncryptionKeys(env);
  const found = ring === undefined ? 'off: no keys are set' : `the key ${ring.writingId} encrypts`;
  const server = await temporal;
  if (!('client' in server)) return ok(found);
  const unreadable = await findUnreadableJob(server.client, ring);
  return unreadable === undefined
    ? ok(found)
    : failed(unreadable, 'Give the same keys to all workers and clients of the namespace, and restart them.');
}

/** A worker polls at least once a minute, and is listed for five minutes after its last poll. */
const STALE_AFTER_MS = 90_000;

async function checkWorkers({ env, temporal }: Context): Promise<Finding> {
  const server = await temporal;
  // On this machine, generate starts a worker where the local stack has none.
  if (server.kind !== 'named') return ok('generate uses those of the local stack, or starts its own');
  const { client } = server;
  const { namespace } = client.options;
  const { taskQueue, downloadQueue } = resolveWorkerQueues({}, env);
  const workersOf = async (name: string, taskQueueType: number) => {
    const { pollers } = await withinCall(client, () =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    );
    const isRecent = (seconds: unknown) => Date.now() - Number(seconds ?? 0) * 1_000 < STALE_AFTER_MS;
    const recent = (pollers ?? []).filter(({ lastAccessTime }) => isRecent(lastAccessTime?.seconds));
    return new Set(recent.map(({ identity }) => identity)).size;
  };
  const { workflows, activities } = TASK_QUEUE_TYPES;
  const count = await workersOf(taskQueue, workflows);
  // Not the queues of submits: workers pause them during a rate limit.
  const unserved = new Set(count === 0 ? [taskQueue] : []);
  for (const queue of [taskQueue, downloadQueue])
    if ((await workersOf(queue, activities)) === 0) unserved.add(queue);
  return unserved.size === 0
    ? ok(`${count} on ${taskQueue}`)
    : failed(`no worker polls ${[...unserved].join(', ')}`, 'Start one with: videogen worker');
}

/** It may create the folder, as the first job would. */
async function checkStorage({ env }: Context): Promise<Finding> {
  const config = readStorageConfig(env);
  try {
    await createStorage(config).probe?.(CALL_LIMIT_MS);
    return ok(`${storageAddress(config)} can be written`);
  } catch (error) {
    if (!(error instanceof StorageUnusable)) throw error;
    return failed(`${error.location}: ${error.problem}`, error.fix);
  }
}
