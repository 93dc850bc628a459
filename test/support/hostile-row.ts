import { createHash, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FailureType, JobResult } from '../../src/contract';
import { isPartName } from '../../src/storage/part-files';
import { expectRow } from './expect-row';
import { offsetOf, type Share } from './hostile-answers';
import type { Answer, Asking } from './hostile-server';
import type { HostileSink } from './hostile-sinks';
import type { HostileWorld } from './hostile-world';

export interface HostileRow {
  /** What the server says to one request after another; the last one to all that follow. */
  answers: readonly Answer[];
  ends: 'stored' | FailureType;
  /** What the failure says beside what its type always says. */
  says?: string | RegExp;
  /** From where on each request wanted the video; undefined for all of it. */
  from?: (Share | undefined)[];
  /** How many requests for the video there were, where `from` does not tell. */
  asked?: number;
  /** Where the service says that the video is. */
  link?: (taskId: string) => string;
  /** What the other origin says. */
  elsewhere?: readonly Answer[];
  /** By a worker that soon loses its patience. */
  hurried?: boolean;
  keepBad?: boolean;
  /** It is tried again and again until there is no time left. */
  toTheDeadline?: boolean;
  /** Although it is tried to the deadline: see below. */
  leavesNoPart?: boolean;
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
  const home = world.home.add(taskId, { bytes, answers: row.answers, link: row.link?.(taskId) });
  const elsewhere = world.elsewhere.add(taskId, { bytes, answers: row.elsewhere ?? [] });
  const read = async (name: string) => {
    const found = await sink.storage.read(`${folder}/${name}`);
    return found && buffer(found);
  };

  const job = (row.hurried ? hurriedVideos : videos).execute({
    taskId,
    storage: `${folder}/video.{ext}`,
    keepBad: row.keepBad,
    // A download gets ten minutes at least.
    ...(row.toTheDeadline && { deadline: '1m' }),
  });
  const end: unknown = await job.catch((error: unknown) => error);
  if (row.toTheDeadline && !row.leavesNoPart) await sweepLastPart(sink, folder);
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
    // To `toEqual` one undefined more or less is the same.
    expect(home.videos.map(({ range }) => range)).toStrictEqual(ranges);
  }
  if (row.asked !== undefined) expect(home.videos).toHaveLength(row.asked);
  // A range without the ETag of what is there would bring the rest of whatever there is by then.
  for (const { range, ifRange } of home.videos) expect(ifRange).toBe(range && '"one"');
  return { home, elsewhere, read };
}

/**
 * The test server tells an attempt's time without the pause before it, which other servers count in. So an attempt
 * there does not know that it is the last one, and leaves its part for the next one, of which the janitor takes care.
 */
async function sweepLastPart({ storage, everythingIn }: HostileSink, folder: string): Promise<void> {
  const parts = (await everythingIn(folder)).filter(isPartName);
  expect(parts.length).toBeLessThanOrEqual(1);
  if (parts.length > 0) await storage.sweep?.(-60_000);
}
