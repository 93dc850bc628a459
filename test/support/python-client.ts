import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readServerOptions } from '../../src/config/temporal-config';
import { buildOnce } from '../../src/temporal-server/build-once';
import { executableName, requireOnSearchPath } from '../../src/temporal-server/executable-file';
import { runTool } from '../../src/temporal-server/run-tool';

const run = promisify(execFile);

/** For `beforeAll`: two cores needed 11 seconds, most of them for the download of 20 MB. */
export const PYTHON_TIMEOUT_MS = 5 * 60_000;

const REQUIREMENTS = join(__dirname, 'python/requirements.txt');
const WHAT_TO_INSTALL =
  'install Python 3.10 or newer as python3, with its modules venv and pip, and let pip reach PyPI';

/** A Python that has Temporal's SDK, installed once from PyPI and kept with Temporal's programs. */
export async function findPythonClient(env = process.env): Promise<string> {
  const { cacheFolder, searchPath } = readServerOptions(env);
  try {
    const python = await requireOnSearchPath('python3', searchPath);
    // A folder of packages goes with the Python that it was made for.
    const { stdout } = await run(python, ['-c', 'import platform; print(platform.python_version())']);
    const sdk = /^temporalio==(\S+)$/m.exec(await readFile(REQUIREMENTS, 'utf8'))?.[1];
    const name = `python-${stdout.trim()}-temporalio-${sdk}-${process.platform}-${process.arch}`;
    const made = await buildOnce(cacheFolder, name, async (folder) => {
      const tool = { cwd: folder, searchPath, timeoutMs: PYTHON_TIMEOUT_MS };
      await runTool(python, ['-m', 'venv', folder], tool);
      await runTool(pythonIn(folder), ['-m', 'pip', 'install', '--requirement', REQUIREMENTS], tool);
    });
    return pythonIn(made);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`The test of Temporal's Python SDK needs it from PyPI (${problem}): ${WHAT_TO_INSTALL}.`);
  }
}

function pythonIn(folder: string): string {
  return join(folder, process.platform === 'win32' ? 'Scripts' : 'bin', executableName('python'));
}
