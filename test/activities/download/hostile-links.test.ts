import { noiseVideo } from '../../../src/testing/video/make-video';
import { cutAt, hops, redirect, say, serve, sinceLink, trickle } from '../../support/hostile-answers';
import type { Answer } from '../../support/hostile-server';
import { SINKS } from '../../support/hostile-sinks';
import { API_KEY, expectEnd, type HostileRow, type HostileWorld, startHostileWorld } from './hostile-row';

const LATE = 0.95;

let world: HostileWorld;
let bytes: Buffer;
beforeAll(async () => {
  world = await startHostileWorld(SINKS.files);
  bytes = await noiseVideo({ prompt: 'A red fox' }, 300 * 1024);
});
afterAll(() => world?.close());

/** Links, and how each one ends. A refused link gets eight attempts. */
const ROWS: Record<string, HostileRow> = {
  'after five redirects': { answers: [hops(5)], ends: 'stored', asked: 6 },
  'after five redirects, and cut after them': {
    answers: [...Array<Answer>(5).fill(hops(5)), cutAt(LATE), hops(5)],
    ends: 'stored',
    from: [...Array<undefined>(6), ...Array<number>(6).fill(LATE)],
  },
  'after six redirects': { answers: [hops(6)], ends: 'VideoUnavailable', says: 'HTTP 302', asked: 8 * 6 },
  'in a redirect loop': {
    answers: [redirect('?again')],
    ends: 'VideoUnavailable',
    says: 'HTTP 302',
    asked: 8 * 6,
  },
  'after a redirect that trickles': {
    answers: [trickle(302, { location: '?on' }), serve],
    ends: 'stored',
    shortTimeouts: true,
  },
  'at a link whose refusal trickles': {
    answers: [sinceLink(2, serve, trickle(403))],
    ends: 'stored',
    shortTimeouts: true,
  },
  'at an address that is not http': {
    answers: [redirect('ftp://127.0.0.1/')],
    ends: 'VideoUnavailable',
    says: 'does not lead to an http address',
    asked: 8,
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
  ['the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
  ['this machine by name', (port) => `http://localhost:${port}/`],
  ['this machine by its other address', (port) => `http://[::1]:${port}/`],
  ['this machine in disguise', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
];

test.each(Object.entries(ROWS))('a video is found %s', async (_what, row) => {
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

test('a video is found at another origin that redirects back, without the API key', async () => {
  const { home } = await expectEnd(world, bytes, {
    answers: [redirect(({ taskId }) => `${world.elsewhere.url}/files/${taskId}/`), serve],
    elsewhere: [redirect(({ taskId }) => `${world.home.url}/files/${taskId}/`)],
    ends: 'stored',
  });
  expect(home.videos.map(({ authorization }) => authorization)).toStrictEqual([
    `Bearer ${API_KEY}`,
    undefined,
  ]);
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
