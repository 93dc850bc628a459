import { createHash, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FailureType, JobResult } from '../../src/contract';
import { isPartName } from '../../src/storage/part-files';
import { expectRow } from './expect-row';
import { offsetOf, type Share } from './hostile-answers';
import type { Answer, Requests } from './hostile-server';
import type { HostileSink } from './hostile-sinks';
import type { HostileWorld } from './hostile-world';

export interface HostileRow {
  /** The answers to the requests in order. The last one is repeated. */
  answers: readonly Answer[];
  ends: 'stored' | FailureType;
  /** A part of the failure's message that is specific to this row. */
  says?: string | RegExp;
  /** Where in the video each request started; undefined for a request without a range. */
  from?: (Share | undefined)[];
  /** The number of requests for the video, where `from` is not given. */
  asked?: number;
  /** The link that the service returns. */
  link?: (taskId: string) => string;
  /** The answers of the other origin. */
  elsewhere?: readonly Answer[];
  /** Runs on the worker with short timeouts. */
  shortTimeouts?: boolean;
  keepBad?: boolean;
  /** Retried until the deadline. */
  toTheDeadline?: boolean;
  /** Although it is retried until the deadline: see `sweepLastPart`. */
  leavesNoPart?: boolean;
  /** The stored video, if the answers end with another one. */
  stored?: (bytes: Buffer) => Buffer;
  /** The files that a failed job leaves. */
  leaves?: string[];
}

export interface HostileJob {
  home: Requests;
  elsewhere: Requests;
  /** Reads a file in the folder of the video. */
  read(name: string): Promise<Buffer | undefined>;
}

/** Runs one job against a row, and expects what holds for every row: the complete video, or nothing. */
export async function expectEnd(world: HostileWorld, bytes: Buffer, row: HostileRow): Promise<HostileJob> {
  const { sink, shortTimeoutVideos, videos } = world;
  const taskId = `task-${randomUUID()}`;
  const folder = `of-${taskId}`;
  const home = world.home.add(taskId, { bytes, answers: row.answers, link: row.link?.(taskId) });
  const elsewhere = world.elsewhere.add(taskId, { bytes, answers: row.elsewhere ?? [] });
  const read = async (name: string) => {
    const found = await sink.storage.read(`${folder}/${name}`);
    return found && buffer(found);
  };

  const job = (row.shortTimeouts ? shortTimeoutVideos : videos).execute({
    taskId,
    storage: `${folder}/video.{ext}`,
    keepBad: row.keepBad,
    // A download still gets at least ten minutes.
    ...(row.toTheDeadline && { deadline: '1m' }),
  });
  const end: unknown = await job.catch((error: unknown) => error);
  if (row.toTheDeadline && !row.leavesNoPart) await sweepLastPart(sink, folder);
  const left = await sink.everythingIn(folder);
  const video = await read('video.mp4');

  if (row.ends === 'stored') {
    const expected = row.stored?.(bytes) ?? bytes;
    if (end instanceof Error) throw end;
    expect(end as JobResult).toMatchObject({
      taskId,
      video: { bytes: expected.length, sha256: createHash('sha256').update(expected).digest('hex') },
    });
    expect(video?.equals(expected)).toBe(true);
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
    // `toEqual` ignores trailing undefined values.
    expect(home.videos.map(({ range }) => range)).toStrictEqual(ranges);
  }
  if (row.asked !== undefined) expect(home.videos).toHaveLength(row.asked);
  // Without the ETag, a range could return the rest of another video.
  for (const { range, ifRange } of home.videos) expect(ifRange).toBe(range && '"one"');
  return { home, elsewhere, read };
}

/**
 * The time-skipping server does not count the pause before an attempt as its time, other servers do. So the last attempt
 * there does not know that it is the last, and leaves its partial file, which the janitor deletes later.
 */
async function sweepLastPart({ storage, everythingIn }: HostileSink, folder: string): Promise<void> {
  const parts = (await everythingIn(folder)).filter(isPartName);
  expect(parts.length).toBeLessThanOrEqual(1);
  if (parts.length > 0) await storage.sweep?.(-60_000);
}
