import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const running = new Map<ChildProcess, Promise<unknown>>();

/** Starts a worker in its own process, and waits until it is ready. */
export async function startWorkerProcess(env: Record<string, string>, main = 'worker-main.cjs') {
  const child = fork(join(__dirname, main), {
    env: { PATH: process.env.PATH, VIDEOGEN_TEST_BUNDLE: process.env.VIDEOGEN_TEST_BUNDLE, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  running.set(child, ended);
  const failed = ended.then(() => Promise.reject(new Error(`The worker did not start:\n${output}`)));
  await Promise.race([once(child, 'message'), failed]);
  return {
    ended,
    kill: (signal: NodeJS.Signals) => {
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
