import { createHash, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FailureType, JobResult } from '../../src/contract';
import { expectRow } from './expect-row';
import { offsetOf, type Share } from './hostile-answers';
import type { Answer, Asking } from './hostile-server';
import type { HostileWorld } from './hostile-world';

export interface HostileRow {
  /** What the server says to one request after another; the last one to all that follow. */
  answers: Answer[];
  ends: 'stored' | FailureType;
  /** What the failure says beside what its type always says. */
  says?: string | RegExp;
  /** From where on each request wanted the video; undefined for all of it. */
  from?: (Share | undefined)[];
  /** How many requests for the video there were, where `from` does not tell. */
  asked?: number;
  /** Where the service says that the video is. */
  link?: (world: HostileWorld) => string;
  /** What is in the other origin's place of the video. */
  elsewhere?: (world: HostileWorld) => Answer[];
  /** By a worker that soon loses its patience. */
  hurried?: boolean;
  input?: { keepBad?: boolean; deadline?: string };
  /** Another than the one that the server has, if the answers bring another. */
  stored?: (bytes: Buffer) => Buffer;
  /** What is left of a job that failed. */
  leaves?: string[];
}

export interface HostileJob {
  home: Asking;
  elsewhere: Asking;
  /** What is stored at a key beside the video's. */
  read(name: string): Promise<Buffer | undefined>;
}

/** Runs one job against a row, and holds it to what every row promises: the whole video, or nothing. */
export async function expectEnd(world: HostileWorld, bytes: Buffer, row: HostileRow): Promise<HostileJob> {
  const { sink, hurriedVideos, videos } = world;
  const taskId = `task-${randomUUID()}`;
  const folder = `of-${taskId}`;
  const home = world.home.add(taskId, { bytes, answers: row.answers, link: row.link?.(world) });
  const elsewhere = world.elsewhere.add(taskId, { bytes, answers: row.elsewhere?.(world) ?? [] });
  const read = async (name: string) => {
    const found = await sink.storage.read(`${folder}/${name}`);
    return found && buffer(found);
  };

  const job = (row.hurried ? hurriedVideos : videos).execute({
    taskId,
    storage: `${folder}/video.{ext}`,
    ...row.input,
  });
  const end: unknown = await job.catch((error: unknown) => error);
  const left = await sink.everythingIn(folder);
  const video = await read('video.mp4');

  if (row.ends === 'stored') {
    const wanted = row.stored?.(bytes) ?? bytes;
    if (end instanceof Error) throw end;
    expect(end as JobResult).toMatchObject({
      taskId,
      video: { bytes: wanted.length, sha256: createHash('sha256').update(wanted).digest('hex') },
    });
    expect(video?.equals(wanted)).toBe(true);
    expect(left.sort()).toEqual(['video.mp4', 'video.mp4.json']);
  } else {
    expectRow(end, row.ends, taskId);
    if (row.says !== undefined) expect(String(end)).toMatch(row.says);
    expect(video).toBeUndefined();
    expect(left).toEqual(row.leaves ?? []);
  }

  const { from } = row;
  if (from !== undefined) {
    const ranges = from.map((share) => share && `bytes=${offsetOf(share, { bytes })}-`);
    expect(home.videos.map(({ range }) => range)).toEqual(ranges);
  }
  if (row.asked !== undefined) expect(home.videos).toHaveLength(row.asked);
  // A range without the ETag of what is there would bring the rest of whatever there is by then.
  for (const { range, ifRange } of home.videos) expect(ifRange).toBe(range && '"one"');
  return { home, elsewhere, read };
}
