import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities, type VideoActivities } from '../../../activities';
import { type FailureType, fromTemporalType } from '../../../src/contract/failure-table';
import { createVideoService } from '../../../src/service';
import { isPartName } from '../../../src/storage';
import { seededRandom } from '../../../src/testing/seeded-random';
import { noiseVideo } from '../../../src/testing/video/make-video';
import {
  type ChangeHead,
  cutAt,
  endAt,
  endless,
  hops,
  offsetOf,
  otherThan,
  redirect,
  resetAt,
  type Share,
  say,
  serve,
  serveOther,
  serveWith,
  sinceLink,
  trickle,
  trickleFrom,
} from '../../support/hostile-answers';
import {
  type Answer,
  type HostileServer,
  type Requests,
  startHostileServer,
} from '../../support/hostile-server';
import { type HostileSink, SINKS } from '../../support/hostile-sinks';
import { atLength } from '../../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../../support/s3-server';
import { REPLAY, SEED } from '../../support/seed';
import { attemptUntilEnd, startAttempt } from '../activity-world';
import { sha256 } from '../memory-world';

const API_KEY = 'the-key-of-the-service';

/** A service and a storage that all tests of a file share. */
interface HostileWorld {
  sink: HostileSink;
  /** The service. */
  home: HostileServer;
  /** Another origin. */
  elsewhere: HostileServer;
  /** The activities of a new worker, whose rate limiter knows of no earlier 429. */
  activities(options: { shortTimeouts?: boolean }): VideoActivities;
  close(): Promise<void>;
}

const LARGEST_VIDEO_BYTES = 12 * 1024 * 1024;

/** On a busy machine these may also end a good connection, which is then only retried. */
const SHORT_PACE = { windowMs: 50, leastBytes: 1_000 };
const SHORT_TIMEOUTS = { video: 500 };

async function startHostileWorld(startSink: () => Promise<HostileSink>): Promise<HostileWorld> {
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

interface HostileRow {
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

interface HostileDownload {
  home: Requests;
  elsewhere: Requests;
  /** Reads a file in the folder of the video. */
  read(name: string): Promise<Buffer | undefined>;
}

/** Downloads one video, and expects what holds for every row: the complete video, or nothing. */
async function expectEnd(world: HostileWorld, bytes: Buffer, row: HostileRow): Promise<HostileDownload> {
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

const KIB = 1024;
const MIB = KIB * KIB;

/** The first cut is inside the bytes that show the container, the second right after them. */
const FIRST_CUTS: Share[] = [4_000 / (300 * KIB), 4_100 / (300 * KIB)];

const random = seededRandom(`cuts ${SEED}`);
const randomCuts = (count: number): Share[] => Array.from({ length: count }, random);

/** Where most rows cut: a multipart upload has stored its first part by then. */
const LATE = 0.95;

/** An answer to a resumed download with other headers. */
const resumedWith = (headersOf: (length: number, from: number) => OutgoingHttpHeaders) =>
  serveWith(({ bytes }, from) => ({ headers: headersOf(bytes.length, from) }));
const tooLong: ChangeHead = ({ bytes }) => ({ headers: { 'content-length': bytes.length + 1_000 } });
const tooShort: ChangeHead = ({ bytes }) => ({ headers: { 'content-length': bytes.length - 1_000 } });
const ignoring =
  (what: 'range' | 'ifRange', answer: Answer): Answer =>
  (response, video, asked) =>
    answer(response, video, { ...asked, [what]: undefined });
const PAGE = '<!doctype html><title>Sign in</title>';

/** Ways to send a video, and how each one ends, for short and long videos. */
const ROWS: Record<string, HostileRow> = {
  'is sent correctly': { answers: [serve], ends: 'stored', from: [undefined] },
  'is cut once and has no length': {
    answers: [cutAt(LATE, () => ({ headers: { 'content-length': undefined } })), serve],
    ends: 'stored',
    from: [undefined, LATE],
  },
  'is announced as longer than it is, once': {
    answers: [cutAt(1, tooLong), serve],
    ends: 'stored',
    from: [undefined, 1, undefined],
  },
  'is always announced as shorter than it is': {
    answers: [serveWith(tooShort)],
    ends: 'VideoCorrupt',
    asked: 5,
  },
  'is resumed at another byte': startsOverAfter(
    resumedWith((length, from) => ({ 'content-range': `bytes ${from - 1}-${length - 1}/${length}` })),
  ),
  'no longer has that range': startsOverAfter(say(416)),
  'is replaced after the cut': {
    answers: [cutAt(LATE), serveOther()],
    ends: 'stored',
    stored: otherThan,
    from: [undefined, LATE],
  },
  'never ends': { answers: [endless], ends: 'VideoTooLarge', asked: 1 },
  'ends too early and has no length': { answers: [endAt(LATE)], ends: 'VideoCorrupt', asked: 5 },
  'is refused with 503 once': { answers: [say(503), serve], ends: 'stored', asked: 2 },
  'is refused with 503 after a cut, and resumed by the next attempt': {
    answers: [cutAt(LATE), say(503), serve],
    ends: 'stored',
    from: [undefined, LATE, LATE],
  },
};

/** The same for rows that a long video would not add to. */
const MORE_ROWS: Record<string, HostileRow> = {
  'is always announced as longer than it is': {
    answers: [cutAt(1, tooLong)],
    ends: 'ServiceUnreachable',
    isRetriedForever: true,
  },
  'is replaced after the cut, on a server that ignores If-Range': {
    answers: [cutAt(LATE), ignoring('ifRange', serveOther())],
    ends: 'stored',
    stored: otherThan,
    from: [undefined, LATE, undefined],
  },
  'is a web page': { answers: [say(200, PAGE)], ends: 'VideoCorrupt', says: 'web page', asked: 5 },
  'is refused with 429 once': { answers: [say(429), serve], ends: 'stored', asked: 2 },
  'trickles once': { answers: [trickleFrom(LATE), serve], ends: 'stored', shortTimeouts: true },
  'always trickles': {
    answers: [trickleFrom(LATE)],
    ends: 'ServiceUnreachable',
    says: 'bytes arrived in',
    shortTimeouts: true,
    isRetriedForever: true,
  },
};

/** When the rest of a cut video cannot be used, the download starts over. */
function startsOverAfter(answer: Answer): HostileRow {
  return { answers: [cutAt(LATE), answer, serve], ends: 'stored', from: [undefined, LATE, undefined] };
}

const worlds = new Map<keyof typeof SINKS, HostileWorld>();
beforeAll(async () => {
  for (const sink of ['files', 'S3'] as const) worlds.set(sink, await startHostileWorld(SINKS[sink]));
}, S3_SERVER_TIMEOUT_MS);
afterAll(async () => {
  for (const world of worlds.values()) await world.close();
});

const pick = (...names: (keyof typeof ROWS)[]) =>
  Object.fromEntries(names.map((name) => [name, ROWS[name]])) as typeof ROWS;

/** What an answer means is read before the storage sees a byte: S3 gets what happens to a storage. */
const S3_ROWS = pick(
  'is cut once and has no length',
  'no longer has that range',
  'is replaced after the cut',
  // Longer than a part of an upload.
  'never ends',
  'ends too early and has no length',
  'is refused with 503 after a cut, and resumed by the next attempt',
);
const S3_PART_ROWS = pick('is cut once and has no length', 'is replaced after the cut');

describe.each([
  ['files', 'files', 300 * KIB, { ...ROWS, ...MORE_ROWS }, [...FIRST_CUTS, ...randomCuts(atLength(6, 50))]],
  [
    'S3',
    'S3',
    300 * KIB,
    atLength(S3_ROWS, { ...ROWS, ...MORE_ROWS }),
    [...FIRST_CUTS, ...randomCuts(atLength(1, 50))],
  ],
  ['S3 in parts', 'S3', 9 * MIB, atLength(S3_PART_ROWS, ROWS), randomCuts(atLength(1, 10))],
] as const)('downloaded to %s, a video that', (_, sink, length, rows, cuts) => {
  let bytes: Buffer;
  let world: HostileWorld;
  beforeAll(async () => {
    bytes = await noiseVideo({ prompt: 'A red fox' }, length);
    world = worlds.get(sink) as HostileWorld;
  });

  test.each(Object.entries(rows))('%s', async (_what, row) => {
    const { home } = await expectEnd(world, bytes, row);
    // Every connection is closed.
    await Promise.all(home.videos.map(({ closed }) => closed));
  });

  describe(`is cut once, ${REPLAY},`, () => {
    test.each(cuts)('at %f of it, resumes there', async (share) => {
      await expectEnd(world, bytes, {
        answers: [cutAt(share), serve],
        ends: 'stored',
        from: [undefined, share],
      });
    });

    test.each(cuts.slice(0, 3))('at %f of it by a reset, resumes where it got to', async (share) => {
      const row: HostileRow = { answers: [resetAt(share), serve], ends: 'stored', asked: 2 };
      const { home } = await expectEnd(world, bytes, row);
      const [, from = '0'] = /^bytes=(\d+)-$/.exec(home.videos[1]?.range ?? '') ?? [];
      expect(Number(from)).toBeLessThanOrEqual(share * length);
    });
  });
});

test('a video that is cut many times is stored if each connection makes progress', async () => {
  const cuts = atLength(12, 50);
  const long = await noiseVideo({ prompt: 'A long fox' }, (cuts + 2) * 70 * KIB);
  const shares = Array.from({ length: cuts }, (_, index) => (index + 1) / (cuts + 1));
  const { home } = await expectEnd(worlds.get('files') as HostileWorld, long, {
    answers: [...shares.map((share) => cutAt(share)), serve],
    ends: 'stored',
    from: [undefined, ...shares],
  });
  // Each connection has its own link.
  expect(home.videos.map(({ link }) => link)).toEqual([...shares, 1].map((_, index) => index + 1));
});

describe('links:', () => {
  let world: HostileWorld;
  let bytes: Buffer;
  beforeAll(async () => {
    world = await startHostileWorld(SINKS.files);
    bytes = await noiseVideo({ prompt: 'A red fox' }, 300 * 1024);
  });
  afterAll(() => world?.close());

  /** Links, and how each one ends. A refused link gets eight attempts. */
  const LINK_ROWS: Record<string, HostileRow> = {
    'after five redirects, and cut after them': {
      answers: [...Array<Answer>(5).fill(hops(5)), cutAt(LATE), hops(5)],
      ends: 'stored',
      from: [...Array<undefined>(6), ...Array<number>(6).fill(LATE)],
    },
    'after six redirects': { answers: [hops(6)], ends: 'VideoUnavailable', says: 'HTTP 302', asked: 8 * 6 },
    'at a link whose refusal trickles': {
      answers: [sinceLink(2, serve, trickle(403))],
      ends: 'stored',
      shortTimeouts: true,
    },

    ...Object.fromEntries(
      [401, 403, 404, 410].map((status): [string, HostileRow] => [
        `at a link that is answered with ${status}, until there is a newer one`,
        { answers: [sinceLink(2, serve, say(status))], ends: 'stored', asked: 2 },
      ]),
    ),
    'at a link that expires in the middle of the video': {
      answers: [sinceLink(2, serve, cutAt(LATE)), sinceLink(3, serve, say(403)), serve],
      ends: 'stored',
      from: [undefined, LATE, LATE],
    },
  };

  /** Addresses that are not allowed, because the worker can reach things there that the service must not. */
  const PRIVATE: [what: string, address: (port: number) => string][] = [
    ['a private network', () => 'http://10.0.0.1/'],
    ['this machine by name', (port) => `http://localhost:${port}/`],
    ['this machine in disguise', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
  ];

  test.each(Object.entries(LINK_ROWS))('a video is found %s', async (_what, row) => {
    await expectEnd(world, bytes, row);
  });

  test('a video is found only at links that are refused: three per attempt, and the failure has the task id', async () => {
    const row: HostileRow = {
      answers: [say(403, '{"error":{"code":"AccessDenied","message":"Request has expired"}}')],
      ends: 'VideoUnavailable',
      says: 'HTTP 403, code AccessDenied, Request has expired',
      asked: 8 * 3,
    };
    const { home } = await expectEnd(world, bytes, row);
    expect(home.links).toBe(8 * 3);
    expect(new Set(home.videos.map(({ link }) => link)).size).toBe(8 * 3);
  });

  test('a video is found at another origin, which does not get the API key', async () => {
    const { home, elsewhere } = await expectEnd(world, bytes, {
      answers: [redirect(({ taskId }) => `${world.elsewhere.url}/files/${taskId}/`)],
      elsewhere: [cutAt(LATE), serve],
      ends: 'stored',
    });
    expect(home.videos.map(({ authorization }) => authorization)).toEqual(Array(2).fill(`Bearer ${API_KEY}`));
    expect(elsewhere.videos).toMatchObject([
      { range: undefined },
      { range: expect.any(String), ifRange: '"one"' },
    ]);
    for (const { authorization } of elsewhere.videos) expect(authorization).toBeUndefined();
  });

  test.each(PRIVATE)(
    'a video is found at %s, which is not connected to and not retried',
    async (_what, address) => {
      const linkTo = (taskId: string) => new URL(`files/${taskId}/`, address(world.elsewhere.port)).href;
      const refused = {
        ends: 'VideoUnavailable',
        says: 'VIDEOGEN_DOWNLOAD_ALLOW',
        elsewhere: [serve],
      } as const;
      const byLink = await expectEnd(world, bytes, { ...refused, answers: [], link: linkTo });
      expect(byLink.home.links).toBe(1);
      const byRedirect = await expectEnd(world, bytes, {
        ...refused,
        answers: [redirect(({ taskId }) => linkTo(taskId))],
        asked: 1,
      });
      for (const { elsewhere } of [byLink, byRedirect]) expect(elsewhere.videos).toEqual([]);
    },
  );
});
