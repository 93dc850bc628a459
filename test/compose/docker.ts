import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** Not the name in docker-compose.yml: containers and volumes of yours are left alone. */
const PROJECT = 'videogen-try';

/** Long enough for a build that fetches every package and image. */
const LONGEST_COMMAND_MS = 20 * 60_000;

export interface Output {
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
