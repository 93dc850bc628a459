import { execFile } from 'node:child_process';
import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readServerOptions } from '../../src/config/temporal-config';
import { buildOnce } from '../../src/temporal-server/build-once';
import { requireOnSearchPath } from '../../src/temporal-server/executable-file';
import { runTool } from '../../src/temporal-server/run-tool';

const run = promisify(execFile);

/** For `beforeAll`: 30 MB from PyPI, once. */
export const FFMPEG_TIMEOUT_MS = 5 * 60_000;

const REQUIREMENTS = join(__dirname, 'python/ffmpeg.txt');
const VERSION = '0.6.0';
const FIX =
  'install Python 3.10 or newer as python3, with pip, and let pip reach PyPI; or set VIDEOGEN_FFMPEG';

/**
 * A real ffmpeg: the one that VIDEOGEN_FFMPEG names, or else the static build in the wheels of imageio-ffmpeg on PyPI, whose
 * digests are pinned. Debian's package needs a hundred libraries beside it.
 */
export async function findFfmpeg(env = process.env): Promise<string> {
  if (env.VIDEOGEN_FFMPEG) return env.VIDEOGEN_FFMPEG;
  const { cacheFolder, searchPath } = readServerOptions(env);
  try {
    const name = `ffmpeg-${VERSION}-${process.platform}-${process.arch}`;
    const made = await buildOnce(cacheFolder, name, async (folder) => {
      const python = await requireOnSearchPath('python3', searchPath);
      const tool = { cwd: folder, searchPath, timeoutMs: FFMPEG_TIMEOUT_MS };
      const pinned = [
        '--no-deps',
        '--only-binary',
        ':all:',
        '--require-hashes',
        '--requirement',
        REQUIREMENTS,
      ];
      await runTool(python, ['-m', 'pip', 'download', '--dest', folder, ...pinned], tool);
      const [wheel = ''] = await readdir(folder);
      await runTool(python, ['-m', 'zipfile', '--extract', wheel, join(folder, 'wheel')], tool);
      const binaries = join(folder, 'wheel/imageio_ffmpeg/binaries');
      const binary = (await readdir(binaries)).find((file) => file.startsWith('ffmpeg-')) ?? '';
      await rename(join(binaries, binary), join(folder, 'ffmpeg'));
      await chmod(join(folder, 'ffmpeg'), 0o755);
      await Promise.all([wheel, 'wheel'].map((file) => rm(join(folder, file), { recursive: true })));
    });
    return join(made, 'ffmpeg');
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`There is no ffmpeg for the tests (${problem}): ${FIX}.`);
  }
}

/** Makes a video of synthetic pictures. The last argument is the file. */
export async function makeWith(ffmpeg: string, ...args: string[]): Promise<void> {
  await run(ffmpeg, ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y', ...args]);
}
