import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface WorkerProcess {
  /** Everything it has printed so far. */
  output(): string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
  ended: Promise<number | null>;
}

const running = new Map<ChildProcess, Promise<unknown>>();

/** Starts a worker in its own process, and waits until it is ready. */
export async function startWorkerProcess(env: Record<string, string>, main?: string): Promise<WorkerProcess> {
  const child = spawnWorker(env, main);
  await Promise.race([once(child.process, 'message'), child.ended.then(() => failed(child.output()))]);
  return child;
}

/** The same without waiting, for workers that are expected to fail. */
function spawnWorker(
  env: Record<string, string>,
  main = 'worker-main.cjs',
): WorkerProcess & { process: ChildProcess } {
  const child = fork(join(__dirname, main), {
    env: { PATH: process.env.PATH, VIDEOGEN_TEST_BUNDLE: process.env.VIDEOGEN_TEST_BUNDLE, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk;
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  running.set(child, ended);
  return {
    process: child,
    output: () => output,
    ended,
    kill: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

/** For `afterEach`: no worker outlives its test. */
export async function killLeftoverWorkers(): Promise<void> {
  for (const child of running.keys()) child.kill('SIGKILL');
  await Promise.all(running.values());
}

function failed(output: string): never {
  throw new Error(`The worker did not start:\n${output}`);
}
