import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findOnSearchPath, requireOnSearchPath, whyNotExecutable } from './executable-file';
import { firstThatWorks, type Way } from './first-that-works';
import { buildWithGo } from './go-build';
import { buildWithMaven } from './maven-build';
import { packageRoot } from './package-root';
import { downloadWithSdk } from './sdk-download';
import { ServerCache } from './server-cache';
import { ServerUnavailable } from './server-unavailable';
import type { OnProgress } from './sign-of-life';

export interface ServerOptions {
  readonly cacheFolder: string;
  /** The Temporal CLI that the user named: nothing else is tried then. */
  readonly temporalCli?: string | undefined;
  /** The time-skipping test server that the user named: nothing else is tried then. */
  readonly testServer?: string | undefined;
  /** PATH: where `temporal`, `go`, `mvn` and `java` are looked up. */
  readonly searchPath?: string | undefined;
  readonly onProgress?: OnProgress | undefined;
}

/** The path of a Temporal CLI, whose `server start-dev` is a Temporal server. */
export async function findDevServer(options: ServerOptions): Promise<string> {
  const { temporalCli, searchPath } = options;
  const recipe = devServerRecipe();
  const cache = await devServerCache(options);
  const what = 'Temporal dev server';
  const ways: Way[] = [
    { name: 'the CLI you named', get: () => named(temporalCli, 'Temporal CLI', 'VIDEOGEN_TEMPORAL_CLI') },
    { name: '`temporal` on the search path', get: () => findOnSearchPath('temporal', searchPath) },
    { name: `the cache, ${cache.folder}`, get: () => cache.find() },
    {
      name: "the SDK's own download",
      get: () =>
        cache.make(`Downloading the ${what}`, onceThen('about a minute', cache), (target) =>
          downloadWithSdk('createLocal', target),
        ),
    },
    {
      name: 'building it with Go',
      get: async () => {
        const go = await requireOnSearchPath('go', searchPath);
        return await cache.make(
          `Building the ${what} with Go`,
          onceThen('5 to 10 minutes', cache),
          (target) => buildWithGo({ go, searchPath, recipe }, target),
        );
      },
    },
  ];
  const wayOut =
    'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, ' +
    'or set TEMPORAL_ADDRESS to a running server.';
  return await firstThatWorks({ what, wayOut }, ways);
}

const devServerRecipe = () => join(packageRoot(), 'src', 'temporal-server', 'dev-server');

/** Where the dev server of the pinned version is kept. */
export async function devServerCache({
  cacheFolder,
  onProgress = () => undefined,
}: ServerOptions): Promise<ServerCache> {
  const version = await pinned(join(devServerRecipe(), 'go.mod'), /github\.com\/temporalio\/cli v(\S+)/);
  return new ServerCache({ cacheFolder, program: 'temporal', version, onProgress });
}

/** The path of a time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export async function findTestServer(options: ServerOptions): Promise<string> {
  const { cacheFolder, testServer, searchPath, onProgress = () => undefined } = options;
  const recipe = join(packageRoot(), 'src', 'temporal-server', 'test-server');
  const version = await pinned(
    join(recipe, 'pom.xml'),
    /temporal-test-server<\/artifactId>\s*<version>([^<]+)/,
  );
  const cache = new ServerCache({ cacheFolder, program: 'temporal-test-server', version, onProgress });
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
