import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readServerOptions } from '../../src/config/temporal-config';
import { executableName, runTool } from '../../src/temporal-server/child-process';
import { buildOnce, requireOnSearchPath } from './build-once';

const run = promisify(execFile);

/** For `beforeAll`: it took 11 seconds on two cores, most of them for a download of 20 MB. */
export const PYTHON_TIMEOUT_MS = 5 * 60_000;

const FIX = 'install Python 3.10 or newer as python3, with its modules venv and pip, and let pip reach PyPI';

/** A Python with the packages of a file in test/support/python, installed once from PyPI into the cache folder. */
export async function findPythonWith(main: string, file: string, env = process.env): Promise<string> {
  const { cacheFolder, searchPath } = readServerOptions(env);
  const requirements = join(__dirname, 'python', file);
  try {
    const python = await requireOnSearchPath('python3', searchPath);
    // A virtual environment works only with the Python that created it.
    const { stdout } = await run(python, ['-c', 'import platform; print(platform.python_version())']);
    const lines = (await readFile(requirements, 'utf8')).split('\n');
    const version = lines.find((line) => line.startsWith(`${main}==`))?.slice(main.length + 2);
    const name = `python-${stdout.trim()}-${main}-${version}-${process.platform}-${process.arch}`;
    const made = await buildOnce(cacheFolder, name, async (folder) => {
      const tool = { cwd: folder, searchPath, timeoutMs: PYTHON_TIMEOUT_MS };
      await runTool(python, ['-m', 'venv', folder], tool);
      await runTool(pythonIn(folder), ['-m', 'pip', 'install', '--requirement', requirements], tool);
    });
    return pythonIn(made);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`${main} could not be installed from PyPI (${problem}): ${FIX}.`);
  }
}

function pythonIn(folder: string): string {
  return join(folder, process.platform === 'win32' ? 'Scripts' : 'bin', executableName('python'));
}
