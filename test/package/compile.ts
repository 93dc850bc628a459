import { join } from 'node:path';
import { run } from './run';

/**
 * The compiler's errors in the programs of these folders, and in our declarations. It runs in its own process, because the
 * compiler takes twice as long inside jest.
 */
export async function compile(host: string, folders: readonly string[]): Promise<string[]> {
  const script = join(__dirname, 'compile-process.cjs');
  const { stdout } = await run(process.execPath, [script, host, ...folders], { cwd: host });
  return JSON.parse(stdout);
}
