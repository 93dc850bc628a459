import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { VideoStorage } from 'temporal-videogen/worker';
import { joinShots } from '../join-shots';

const run = promisify(execFile);

export const NO_FFMPEG =
  'There is no ffmpeg on PATH: install it, such as with apt-get install ffmpeg or brew install ffmpeg.';

export type FilmActivities = ReturnType<typeof createFilmActivities>;

/** Retries are safe: each attempt makes the same frame and the same film. */
export function createFilmActivities(storage: VideoStorage, ffmpeg = 'ffmpeg') {
  return {
    /** The last picture of a shot as a data: URL, which the next request takes as its image. */
    async takeLastFrame(shot: string): Promise<string> {
      const folder = await mkdtemp(join(tmpdir(), 'film-'));
      try {
        const [video, frame] = [join(folder, 'shot'), join(folder, 'last.jpg')];
        await pipeline(await opened(shot), createWriteStream(video));
        await decode(['-protocol_whitelist', 'file', '-i', video, ...EACH_INTO_ONE_FILE, frame]);
        return `data:image/jpeg;base64,${await readFile(frame, 'base64')}`;
      } finally {
        await rm(folder, { recursive: true });
      }
    },

    async joinFilm(shots: string[], key: string): Promise<string> {
      return (await storage.write(key, await joinShots(videosOf(shots)), 'video/mp4')).uri;
    },
  };

  /** One at a time, so that only one is in memory. */
  async function* videosOf(shots: string[]): AsyncGenerator<Buffer> {
    for (const shot of shots) yield buffer(await opened(shot));
  }

  async function opened(shot: string) {
    const key = storage.keyOf?.(shot);
    const video = key === undefined ? undefined : await storage.read(key);
    if (!video)
      throw new Error(
        `There is no ${shot} in the storage: use the same storage as the worker that made the shots.`,
      );
    return video;
  }

  async function decode(args: string[]): Promise<void> {
    try {
      await run(ffmpeg, ['-nostdin', '-loglevel', 'error', ...args], { timeout: 60_000 });
    } catch (error) {
      throw Object(error).code === 'ENOENT' ? new Error(NO_FFMPEG, { cause: error }) : error;
    }
  }
}

/** Each picture replaces the one before, so the last one stays, whatever the file says about its length. */
const EACH_INTO_ONE_FILE = ['-map', '0:v:0', '-update', '1', '-q:v', '2', '-bitexact'];
