import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import { type FailureType, fromTemporalType } from '../../src/contract/failure-table';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createFileStorage, isPartName, type VideoStorage } from '../../src/storage';
import { seededRandom } from '../../src/testing/seeded-random';
import { noiseVideo } from '../../src/testing/video/make-video';
import {
  type ChangeHead,
  cutAt,
  endAt,
  endless,
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
  trickleFrom,
} from '../support/hostile-answers';
import {
  type Answer,
  type HostileServer,
  type Requests,
  startHostileServer,
} from '../support/hostile-server';
import { atLength } from '../support/nightly';
import { REPLAY, SEED } from '../support/seed';
import { filesIn } from '../support/stored-files';
import { attemptUntilEnd, startAttempt } from './activity-world';
import { sha256 } from './memory-world';

const API_KEY = 'the-key-of-the-service';

const KIB = 1024;
const LARGEST_VIDEO_BYTES = 12 * KIB * KIB;

/** On a busy machine this may also end a good connection, which is then only retried. */
const SHORT_PACE = { windowMs: 50, leastBytes: 1_000 };

/** The service, and another origin. */
let home: HostileServer;
let elsewhere: HostileServer;
let service: OpenedVideoService;
let root: string;
let storage: VideoStorage;
/** The video of most tests. */
let bytes: Buffer;
beforeAll(async () => {
  [home, elsewhere] = await Promise.all([startHostileServer(), startHostileServer()]);
  service = createVideoService({ baseUrl: home.url, apiKey: () => API_KEY });
  root = await mkdtemp(join(tmpdir(), 'videogen-hostile-'));
  storage = createFileStorage(root);
  bytes = await noiseVideo({ prompt: 'A red fox' }, 300 * KIB);
});
afterAll(async () => {
  await service.close();
  await Promise.all([home.close(), elsewhere.close()]);
  await rm(root, { recursive: true, force: true });
});

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
  pace?: typeof SHORT_PACE;
  /** No number of attempts ends it. */
  isRetriedForever?: boolean;
  /** The stored video, if the answers end with another one. */
  stored?: (bytes: Buffer) => Buffer;
}

/** Downloads one video, and expects what holds for every row: the complete video, or nothing. */
async function expectEnd(row: HostileRow, video = bytes): Promise<{ home: Requests; elsewhere: Requests }> {
  const taskId = `task-${randomUUID()}`;
  const folder = `of-${taskId}`;
  const atHome = home.add(taskId, { bytes: video, answers: row.answers, link: row.link?.(taskId) });
  const atOther = elsewhere.add(taskId, { bytes: video, answers: row.elsewhere ?? [] });

  const input = { taskId, storage: `${folder}/video.{ext}` };
  const { end } = await attemptUntilEnd((info) => {
    // A new worker, whose rate limiter knows of no earlier 429.
    const { downloadVideo } = createVideoActivities({
      service,
      storage,
      largestVideoBytes: LARGEST_VIDEO_BYTES,
      ...(row.pace && { pace: row.pace }),
    });
    return startAttempt(downloadVideo, input, info);
  });
  if (row.isRetriedForever) await sweepLastPart();
  expect(await parts()).toEqual([]);
  // A failed download may leave an empty folder, or none.
  const left = await filesIn(join(root, folder)).catch(() => []);
  const stored = await storage.read(`${folder}/video.mp4`);

  if (row.ends === 'stored') {
    const expected = row.stored?.(video) ?? video;
    if (end instanceof ApplicationFailure) throw end;
    expect(end.video).toMatchObject({ bytes: expected.length, sha256: sha256(expected) });
    expect(stored && (await buffer(stored)).equals(expected)).toBe(true);
    expect(left.sort()).toEqual(['video.mp4', 'video.mp4.json']);
  } else {
    if (!(end instanceof ApplicationFailure)) throw new Error(`it was stored as ${end.video.uri}`);
    expect([fromTemporalType(end.type), end.details]).toEqual([
      row.ends,
      [expect.objectContaining({ taskId })],
    ]);
    expect(end.nonRetryable).toBe(!row.isRetriedForever);
    expect(end.message).toMatch(row.says ?? '');
    expect(stored).toBeUndefined();
    expect(left).toEqual([]);
  }

  const { from } = row;
  if (from !== undefined) {
    const ranges = from.map((share) => share && `bytes=${offsetOf(share, { bytes: video })}-`);
    // `toEqual` ignores trailing undefined values.
    expect(atHome.videos.map(({ range }) => range)).toStrictEqual(ranges);
  }
  if (row.asked !== undefined) expect(atHome.videos).toHaveLength(row.asked);
  // Without the ETag, a range could return the rest of another video.
  for (const { range, ifRange } of atHome.videos) expect(ifRange).toBe(range && '"one"');
  // Every connection is closed.
  await Promise.all(atHome.videos.map(({ closed }) => closed));
  return { home: atHome, elsewhere: atOther };
}

const parts = async () => (await filesIn(root)).filter(isPartName);

/** An attempt that may be retried leaves its partial file for the next one. */
async function sweepLastPart(): Promise<void> {
  expect((await parts()).length).toBeLessThanOrEqual(1);
  await storage.sweep?.(-60_000);
}

/** The first cut is inside the bytes that show the container, the second right after them. */
const FIRST_CUTS: Share[] = [4_000 / (300 * KIB), 4_100 / (300 * KIB)];

const random = seededRandom(`cuts ${SEED}`);
const randomCuts = (count: number): Share[] => Array.from({ length: count }, random);

/** Where most rows cut. */
const LATE = 0.95;

/** An answer to a resumed download with other headers. */
const resumedWith = (headersOf: (length: number, from: number) => OutgoingHttpHeaders) =>
  serveWith(({ bytes }, from) => ({ headers: headersOf(bytes.length, from) }));
const tooLong: ChangeHead = ({ bytes }) => ({ headers: { 'content-length': bytes.length + 1_000 } });
const tooShort: ChangeHead = ({ bytes }) => ({ headers: { 'content-length': bytes.length - 1_000 } });
const ignoringIfRange =
  (answer: Answer): Answer =>
  (response, video, asked) =>
    answer(response, video, { ...asked, ifRange: undefined });

/** Ways to send a video, and how each one ends. */
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
  'is refused with 503 after a cut, and resumed by the next attempt': {
    answers: [cutAt(LATE), say(503), serve],
    ends: 'stored',
    from: [undefined, LATE, LATE],
  },
  'is behind a link that expires in the middle': {
    answers: [sinceLink(2, serve, cutAt(LATE)), sinceLink(3, serve, say(403)), serve],
    ends: 'stored',
    from: [undefined, LATE, LATE],
  },
  'is behind links that are refused, three in each attempt': {
    answers: [say(403, '{"error":{"code":"AccessDenied","message":"Request has expired"}}')],
    ends: 'VideoUnavailable',
    says: 'HTTP 403, code AccessDenied, Request has expired',
    asked: 8 * 3,
  },
  'is always announced as longer than it is': {
    answers: [cutAt(1, tooLong)],
    ends: 'ServiceUnreachable',
    isRetriedForever: true,
  },
  'is replaced after the cut, on a server that ignores If-Range': {
    answers: [cutAt(LATE), ignoringIfRange(serveOther())],
    ends: 'stored',
    stored: otherThan,
    from: [undefined, LATE, undefined],
  },
  'always trickles': {
    answers: [trickleFrom(LATE)],
    ends: 'ServiceUnreachable',
    says: 'bytes arrived in',
    pace: SHORT_PACE,
    isRetriedForever: true,
  },
};

/** When the rest of a cut video cannot be used, the download starts over. */
function startsOverAfter(answer: Answer): HostileRow {
  return { answers: [cutAt(LATE), answer, serve], ends: 'stored', from: [undefined, LATE, undefined] };
}

test.each(Object.entries(ROWS))('a video that %s', async (_what, row) => {
  await expectEnd(row);
});

const cuts = [...FIRST_CUTS, ...randomCuts(atLength(3, 100))];

test.each(cuts)(`a video that is cut once, ${REPLAY}, at %f of it, is resumed there`, async (share) => {
  await expectEnd({ answers: [cutAt(share), serve], ends: 'stored', from: [undefined, share] });
});

test.each(cuts.slice(0, 2))('a video that is reset at %f of it is resumed where it got to', async (share) => {
  const { home } = await expectEnd({ answers: [resetAt(share), serve], ends: 'stored', asked: 2 });
  const [, from = '0'] = /^bytes=(\d+)-$/.exec(home.videos[1]?.range ?? '') ?? [];
  expect(Number(from)).toBeLessThanOrEqual(share * bytes.length);
});

test('a video that is cut many times is stored if each connection makes progress', async () => {
  const many = atLength(6, 50);
  const long = await noiseVideo({ prompt: 'A long fox' }, (many + 2) * 70 * KIB);
  const shares = Array.from({ length: many }, (_, index) => (index + 1) / (many + 1));
  const row: HostileRow = {
    answers: [...shares.map((share) => cutAt(share)), serve],
    ends: 'stored',
    from: [undefined, ...shares],
  };
  const { home } = await expectEnd(row, long);
  // Each connection has its own link.
  expect(home.videos.map(({ link }) => link)).toEqual([...shares, 1].map((_, index) => index + 1));
});

test('a video is found at another origin, which does not get the API key', async () => {
  const requests = await expectEnd({
    answers: [redirect(({ taskId }) => `${elsewhere.url}/files/${taskId}/`)],
    elsewhere: [cutAt(LATE), serve],
    ends: 'stored',
  });
  const keys = requests.home.videos.map(({ authorization }) => authorization);
  expect(keys).toEqual(Array(2).fill(`Bearer ${API_KEY}`));
  expect(requests.elsewhere.videos).toMatchObject([
    { range: undefined },
    { range: expect.any(String), ifRange: '"one"' },
  ]);
  for (const { authorization } of requests.elsewhere.videos) expect(authorization).toBeUndefined();
});

/** Addresses that are not allowed, because the worker can reach things there that the service must not. */
test.each<[what: string, address: (port: number) => string]>([
  ['a private network', () => 'http://10.0.0.1/'],
  ['this machine in disguise', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
])('a link or a redirect to %s is not connected to, and not retried', async (_what, address) => {
  const linkTo = (taskId: string) => new URL(`files/${taskId}/`, address(elsewhere.port)).href;
  const refused = { ends: 'VideoUnavailable', says: 'VIDEOGEN_DOWNLOAD_ALLOW', elsewhere: [serve] } as const;
  const byLink = await expectEnd({ ...refused, answers: [], link: linkTo });
  expect(byLink.home.links).toBe(1);
  const toOther = redirect(({ taskId }) => linkTo(taskId));
  const byRedirect = await expectEnd({ ...refused, answers: [toOther], asked: 1 });
  for (const requests of [byLink, byRedirect]) expect(requests.elsewhere.videos).toEqual([]);
});
