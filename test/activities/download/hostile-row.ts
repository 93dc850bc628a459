import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities, type VideoActivities } from '../../../activities';
import { type FailureType, fromTemporalType } from '../../../src/contract/failure-table';
import { createVideoService } from '../../../src/service';
import { isPartName } from '../../../src/storage';
import { offsetOf, type Share } from '../../support/hostile-answers';
import {
  type Answer,
  type HostileServer,
  type Requests,
  startHostileServer,
} from '../../support/hostile-server';
import type { HostileSink } from '../../support/hostile-sinks';
import { attemptUntilEnd, startAttempt } from '../activity-world';
import { sha256 } from '../memory-world';

export const API_KEY = 'the-key-of-the-service';

/** A service and a storage that all tests of a file share. */
export interface HostileWorld {
  sink: HostileSink;
  /** The service. */
  home: HostileServer;
  /** Another origin. */
  elsewhere: HostileServer;
  /** The activities of a new worker, whose rate limiter knows of no earlier 429. */
  activities(options: { shortTimeouts?: boolean }): VideoActivities;
  close(): Promise<void>;
}

export const LARGEST_VIDEO_BYTES = 12 * 1024 * 1024;

/** On a busy machine these may also end a good connection, which is then only retried. */
const SHORT_PACE = { windowMs: 50, leastBytes: 1_000 };
const SHORT_TIMEOUTS = { video: 500 };

export async function startHostileWorld(startSink: () => Promise<HostileSink>): Promise<HostileWorld> {
  const [home, elsewhere, sink] = await Promise.all([
    startHostileServer(),
    startHostileServer(),
    startSink(),
  ]);
  const address = { baseUrl: home.url, apiKey: () => API_KEY };
  const service = createVideoService(address);
  const shortTimeoutService = createVideoService({ ...address, timeouts: SHORT_TIMEOUTS });
  return {
    sink,
    home,
    elsewhere,
    activities: ({ shortTimeouts = false }) =>
      createVideoActivities({
        storage: sink.storage,
        largestVideoBytes: LARGEST_VIDEO_BYTES,
        ...(shortTimeouts ? { service: shortTimeoutService, pace: SHORT_PACE } : { service }),
      }),
    async close() {
      for (const one of [service, shortTimeoutService]) await one.close();
      for (const server of [home, elsewhere]) await server.close();
      await sink.close();
    },
  };
}

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
  shortTimeouts?: boolean;
  /** No number of attempts ends it. */
  isRetriedForever?: boolean;
  /** The stored video, if the answers end with another one. */
  stored?: (bytes: Buffer) => Buffer;
}

export interface HostileDownload {
  home: Requests;
  elsewhere: Requests;
  /** Reads a file in the folder of the video. */
  read(name: string): Promise<Buffer | undefined>;
}

/** Downloads one video, and expects what holds for every row: the complete video, or nothing. */
export async function expectEnd(
  world: HostileWorld,
  bytes: Buffer,
  row: HostileRow,
): Promise<HostileDownload> {
  const { sink } = world;
  const taskId = `task-${randomUUID()}`;
  const folder = `of-${taskId}`;
  const home = world.home.add(taskId, { bytes, answers: row.answers, link: row.link?.(taskId) });
  const elsewhere = world.elsewhere.add(taskId, { bytes, answers: row.elsewhere ?? [] });
  const read = async (name: string) => {
    const found = await sink.storage.read(`${folder}/${name}`);
    return found && buffer(found);
  };

  const input = { taskId, storage: `${folder}/video.{ext}` };
  const { end } = await attemptUntilEnd((info) =>
    startAttempt(world.activities(row).downloadVideo, input, info),
  );
  if (row.isRetriedForever) await sweepLastPart(sink, folder);
  const left = await sink.everythingIn(folder);
  const video = await read('video.mp4');

  if (row.ends === 'stored') {
    const expected = row.stored?.(bytes) ?? bytes;
    if (end instanceof ApplicationFailure) throw end;
    expect(end.video).toMatchObject({ bytes: expected.length, sha256: sha256(expected) });
    expect(video?.equals(expected)).toBe(true);
    expect(left.sort()).toEqual(['video.mp4', 'video.mp4.json']);
  } else {
    if (!(end instanceof ApplicationFailure)) throw new Error(`it was stored as ${end.video.uri}`);
    expect([fromTemporalType(end.type), end.details]).toEqual([
      row.ends,
      [expect.objectContaining({ taskId })],
    ]);
    expect(end.nonRetryable).toBe(!row.isRetriedForever);
    expect(end.message).toMatch(row.says ?? '');
    expect(video).toBeUndefined();
    expect(left).toEqual([]);
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

/** An attempt that may be retried leaves its partial file for the next one. */
async function sweepLastPart({ storage, everythingIn }: HostileSink, folder: string): Promise<void> {
  const parts = (await everythingIn(folder)).filter(isPartName);
  expect(parts.length).toBeLessThanOrEqual(1);
  if (parts.length > 0) await storage.sweep?.(-60_000);
}
