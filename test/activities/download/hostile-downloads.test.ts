import type { OutgoingHttpHeaders } from 'node:http';
import { seededRandom } from '../../../src/testing/seeded-random';
import { noiseVideo } from '../../../src/testing/video/make-video';
import {
  type ChangeHead,
  cutAt,
  endAt,
  endless,
  onlyHead,
  otherThan,
  resetAt,
  type Share,
  say,
  serve,
  serveOther,
  serveWith,
  trickleFrom,
} from '../../support/hostile-answers';
import type { Answer } from '../../support/hostile-server';
import { SINKS } from '../../support/hostile-sinks';
import { atLength } from '../../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../../support/s3-server';
import { REPLAY, SEED } from '../../support/seed';
import {
  expectEnd,
  type HostileRow,
  type HostileWorld,
  LARGEST_VIDEO_BYTES,
  startHostileWorld,
} from './hostile-row';

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
const withETag = (etag: string | undefined) => () => ({ headers: { etag } });
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
  'is cut more often than one attempt allows, with almost no progress': {
    answers: [...Array.from({ length: 7 }, (_, index) => cutAt(LATE + index / 1_000)), serve],
    ends: 'stored',
    asked: 8,
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
  'is resumed as a longer one': startsOverAfter(
    resumedWith((length, from) => ({
      'content-range': `bytes ${from}-${length}/${length + 1}`,
      'content-length': length + 1 - from,
    })),
  ),
  'no longer has that range': startsOverAfter(say(416)),
  'comes from a server without ranges': {
    answers: [cutAt(LATE), ignoring('range', serve)],
    ends: 'stored',
    from: [undefined, LATE],
  },
  'has no ETag': {
    answers: [cutAt(LATE, withETag(undefined)), serve],
    ends: 'stored',
    from: [undefined, undefined],
  },
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
  'is announced as larger than allowed': {
    answers: [onlyHead({ 'content-length': LARGEST_VIDEO_BYTES + 1 })],
    ends: 'VideoTooLarge',
    asked: 1,
  },
  'is a web page': { answers: [say(200, PAGE)], ends: 'VideoCorrupt', says: 'web page', asked: 5 },
  'is JSON': { answers: [say(200, '{"error":"no"}')], ends: 'VideoCorrupt', says: 'JSON', asked: 5 },
  'is empty': { answers: [say(200)], ends: 'VideoCorrupt', says: 'empty', asked: 5 },
  'ends too early once and has no length': { answers: [endAt(LATE), serve], ends: 'stored', asked: 2 },
  'is refused with 500 once': { answers: [say(500), serve], ends: 'stored', asked: 2 },
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
