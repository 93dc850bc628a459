import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { ConfigError, type Environment, readerOf, type SettingGroup, text } from './read-setting';

const NAME = process.platform === 'win32' ? 'ffmpeg.exe' : 'ffmpeg';
const FIX = 'give the path of an executable ffmpeg, such as /usr/bin/ffmpeg, or unset it for the one on PATH';

export const EXTRAS_SETTINGS = {
  VIDEOGEN_FFMPEG: {
    type: text.refine(isAbsolute, 'is not an absolute path').optional(),
    meaning: 'The ffmpeg with which workers make `extras` and the frame that `continueFrom` needs.',
    page: 'after-the-video.md#ffmpeg',
    unset: 'the `ffmpeg` on `PATH`, if there is one',
    fix: FIX,
  },
} satisfies SettingGroup;

const read = readerOf(EXTRAS_SETTINGS);

/** The executable of ffmpeg; undefined when there is none. A worker works without it, and says so where it is needed. */
export function readFfmpeg(env: Environment = process.env): string | undefined {
  const named = read('VIDEOGEN_FFMPEG', env);
  if (named === undefined) return onPath(env.PATH);
  if (isExecutable(named)) return named;
  throw new ConfigError(`VIDEOGEN_FFMPEG names no executable file: ${FIX}.`);
}

/** Relative folders are left out: they would run files of the current folder. */
function onPath(searchPath = ''): string | undefined {
  return searchPath
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, NAME))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
