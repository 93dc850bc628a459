import { basename } from 'node:path/posix';
import { buffer, text } from 'node:stream/consumers';
import { parseResults, type VideoStorage } from 'temporal-videogen';
import { joinShots } from './join-shots';
import { posterPage } from './poster-page';

/** Keys of the storage: where the trailer goes, and what became of the shots. */
export interface Shots {
  folder: string;
  results: string;
}

export type TrailerActivities = ReturnType<typeof createTrailerActivities>;

/** An attempt that comes again puts the same in the same place; the storage puts it there whole or not at all. */
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

  /** In the order of the storyboard, as their results are. The batch stops at a failure: all of them succeeded. */
  async function shotsIn(results: string) {
    const items = parseResults(await text(await stored(results)));
    return items.flatMap((item) =>
      item.outcome === 'succeeded'
        ? { file: decodeURIComponent(basename(item.video.uri)), seconds: item.video.durationSeconds }
        : [],
    );
  }

  /** One after the other, so that one of them is in memory at a time. */
  async function* videosOf(keys: string[]): AsyncGenerator<Buffer> {
    for (const key of keys) yield buffer(await stored(key));
  }

  async function stored(key: string) {
    const content = await storage.read(key);
    if (!content)
      throw new Error(`There is no ${key} in the storage; is it that of the worker with the videos?`);
    return content;
  }
}
