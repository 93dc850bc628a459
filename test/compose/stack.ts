import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const ROOT = join(__dirname, '../..');

/** Not the name in docker-compose.yml: containers and volumes of yours are left alone. */
const PROJECT = 'videogen-try';

/** Long enough for a build that fetches every package and image. */
const LONGEST_COMMAND_MS = 20 * 60_000;

interface Output {
  stdout: string;
  stderr: string;
  seconds: number;
}

/** Runs `docker`, in the repository. An error has what it printed. */
export function docker(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Output> {
  const startedAt = performance.now();
  const child = spawn('docker', args, {
    cwd: ROOT,
    env: { ...process.env, COMPOSE_PROJECT_NAME: PROJECT, COMPOSE_PROGRESS: 'plain', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_COMMAND_MS,
  });
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`docker cannot be run: ${error.message}`)));
    child.once('close', (code) => {
      const seconds = (performance.now() - startedAt) / 1_000;
      if (code === 0) return resolve({ ...printed, seconds });
      const tail = `${printed.stdout}${printed.stderr}`.trim().split('\n').slice(-30).join('\n');
      reject(new Error(`docker ${args.join(' ')} ended with code ${code}:\n${tail}`));
    });
  });
}

/** One line of `docker`'s output. */
export async function dockerLine(...args: string[]): Promise<string> {
  return (await docker(args)).stdout.trim();
}

/** Longer than a container takes to come back on a busy machine: Docker waits a little longer after each restart. */
const BACK_WITHIN_MS = 3 * 60_000;
const ASK_EVERY_MS = 200;

const IMAGE = 'temporal-videogen:local';

const containerSchema = z.object({
  RestartCount: z.number(),
  State: z.object({
    Running: z.boolean(),
    Pid: z.number(),
    ExitCode: z.number(),
    Health: z.object({ Status: z.string() }).optional(),
  }),
});

type Container = z.infer<typeof containerSchema>;

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
  const [described] = z.array(z.unknown()).parse(JSON.parse(await dockerLine('inspect', container)));
  return containerSchema.parse(described);
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

export interface ImageFacts {
  totalMb: number;
  /** What this repository adds to the image of Node. */
  ownMb: number;
  user: string;
}

const imageSchema = z.object({
  Size: z.number(),
  Config: z.object({ User: z.string() }),
  RootFS: z.object({ Layers: z.array(z.string()) }),
});

async function inspectImage(name: string): Promise<z.infer<typeof imageSchema>> {
  const [described] = z.array(z.unknown()).parse(JSON.parse(await dockerLine('image', 'inspect', name)));
  return imageSchema.parse(described);
}

/** The size of our image, and how much of it is above the base that its Dockerfile names. */
export async function imageFacts(base: string): Promise<ImageFacts> {
  const [own, below] = await Promise.all([inspectImage(IMAGE), inspectImage(base)]);
  const isOnBase = below.RootFS.Layers.every((layer, index) => own.RootFS.Layers[index] === layer);
  if (!isOnBase) throw new Error(`${IMAGE} is not built on ${base}.`);
  return { totalMb: own.Size / 1e6, ownMb: (own.Size - below.Size) / 1e6, user: own.Config.User };
}

/** Runs a line of JavaScript in the container of a service. */
export const evaluate = (service: string, code: string): Promise<string> =>
  dockerLine('compose', 'exec', '-T', service, 'node', '--eval', code);
