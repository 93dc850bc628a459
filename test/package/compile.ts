import { join } from 'node:path';
import { run } from './run';

/**
 * What the compiler says of the programs in some folders of a project, and of our declarations. In a process of its own:
 * the compiler takes twice as long among the globals that jest watches.
 */
export async function compile(host: string, folders: readonly string[]): Promise<string[]> {
  const script = join(__dirname, 'compile-process.cjs');
  const { stdout } = await run(process.execPath, [script, host, ...folders], { cwd: host });
  return JSON.parse(stdout);
}
