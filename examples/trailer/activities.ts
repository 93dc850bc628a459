import { basename } from 'node:path/posix';
import { buffer, text } from 'node:stream/consumers';
import { parseResults } from 'temporal-videogen';
import type { VideoStorage } from 'temporal-videogen/worker';
import { joinShots } from './join-shots';
import { posterPage } from './poster-page';

export interface Shots {
  /** The storage folder of the shots and the trailer. */
  folder: string;
  /** The key of the results of the batch. */
  results: string;
}

export type TrailerActivities = ReturnType<typeof createTrailerActivities>;

/** Retries are safe: each attempt writes the same files, and the storage writes a file completely or not at all. */
export function createTrailerActivities(storage: VideoStorage) {
  return {
    async cutTrailer({ folder, results }: Shots): Promise<string> {
      const shots = await shotsIn(results);
      const film = await joinShots(videosOf(shots.map(({ file }) => `${folder}/${file}`)));
      return (await storage.write(`${folder}/trailer.mp4`, film, 'video/mp4')).uri;
    },

    async layOutPoster({ folder, results, captions }: Shots & { captions: string[] }): Promise<string> {
      const shots = await shotsIn(results);
      const page = posterPage(shots.map((shot, index) => ({ ...shot, caption: captions[index] ?? '' })));
      return (await storage.write(`${folder}/poster.html`, page, 'text/html; charset=utf-8')).uri;
    },
  };

  /** In the order of the storyboard. The batch stops at a failure, so all shots succeeded. */
  async function shotsIn(results: string) {
    const items = parseResults(await text(await stored(results)));
    return items.flatMap((item) =>
      item.outcome === 'succeeded'
        ? { file: decodeURIComponent(basename(item.video.uri)), seconds: item.video.durationSeconds }
        : [],
    );
  }

  /** One at a time, so that only one is in memory. */
  async function* videosOf(keys: string[]): AsyncGenerator<Buffer> {
    for (const key of keys) yield buffer(await stored(key));
  }

  async function stored(key: string) {
    const content = await storage.read(key);
    if (!content)
      throw new Error(
        `There is no ${key} in the storage: use the same storage as the worker that made the shots.`,
      );
    return content;
  }
}
