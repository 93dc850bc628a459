import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const ROOT = join(__dirname, '../..');

/** Not the name in docker-compose.yml: containers and volumes of yours are left alone. */
const PROJECT = 'videogen-try';

/** Long enough for a build that fetches every package and image. */
const LONGEST_COMMAND_MS = 20 * 60_000;

const run = promisify(execFile);

/** Runs `docker`, in the repository. An error has what it printed. */
export async function docker(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const startedAt = performance.now();
  const printed = await run('docker', args, {
    cwd: ROOT,
    env: { ...process.env, COMPOSE_PROJECT_NAME: PROJECT, COMPOSE_PROGRESS: 'plain', ...env },
    timeout: LONGEST_COMMAND_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return { ...printed, seconds: (performance.now() - startedAt) / 1_000 };
}

/** One line of `docker`'s output. */
export async function dockerLine(...args: string[]): Promise<string> {
  return (await docker(args)).stdout.trim();
}

/** Longer than a container takes to come back on a busy machine: Docker waits a little longer after each restart. */
const BACK_WITHIN_MS = 3 * 60_000;
const ASK_EVERY_MS = 200;

const IMAGE = 'temporal-videogen:local';

/** What `docker inspect` says of a container, as far as it is read here. */
interface Container {
  RestartCount: number;
  State: { Running: boolean; Pid: number; ExitCode: number; Health?: { Status: string } };
}

/** Asks until it is so, and fails with `what` after some minutes. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | undefined>,
  withinMs = BACK_WITHIN_MS,
): Promise<Found> {
  const givesUpAt = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > givesUpAt) throw new Error(`${what}: not within ${withinMs / 1_000} s.`);
    await sleep(ASK_EVERY_MS);
  }
}

/** The services that run until they are stopped. */
export async function runningServices(): Promise<string[]> {
  const names = await dockerLine('compose', 'ps', '--services', '--status', 'running');
  return names.split('\n').sort();
}

export const containerOf = (service: string): Promise<string> =>
  dockerLine('compose', 'ps', '--all', '--quiet', service);

export async function inspect(container: string): Promise<Container> {
  return JSON.parse(await dockerLine('inspect', '--format', '{{json .}}', container));
}

const isWell = ({ State: { Running, Health } }: Container): boolean =>
  Running && (Health === undefined || Health.Status === 'healthy');

/** Waits until a service runs and its health check says so. */
export async function untilWell(service: string): Promise<void> {
  const container = await containerOf(service);
  await eventually(`${service} is well`, async () => (isWell(await inspect(container)) ? true : undefined));
}

/**
 * Kills a service as a crash does: `docker kill` would count as a wish to stop it, and Docker would not start it again.
 * Resolves with the seconds until it was well again.
 */
export async function crash(service: string): Promise<number> {
  const container = await containerOf(service);
  const before = await inspect(container);
  const startedAt = performance.now();
  await killProcess(before.State.Pid);
  await eventually(`${service} is back after its end`, async () => {
    const now = await inspect(container);
    return now.RestartCount > before.RestartCount && isWell(now) ? true : undefined;
  });
  return (performance.now() - startedAt) / 1_000;
}

/** In the engine's own process namespace, since Docker may run in a virtual machine, or as another user. */
async function killProcess(pid: number): Promise<void> {
  await docker([
    ...['run', '--rm', '--network', 'none', '--pid', 'host'],
    ...['--user', '0', '--cap-drop', 'ALL', '--cap-add', 'KILL'],
    ...['--entrypoint', 'node', IMAGE, '--eval', `process.kill(${pid}, 'SIGKILL')`],
  ]);
}

/** Runs a line of JavaScript in the container of a service. */
export const evaluate = (service: string, code: string): Promise<string> =>
  dockerLine('compose', 'exec', '-T', service, 'node', '--eval', code);
