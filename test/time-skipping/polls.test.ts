import type { VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, historyOf, timers } from '../support/history';
import { captureLogs } from '../support/logs';
import { inWorld } from '../support/world';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const request = { prompt: 'A red fox' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

test.each([
  [3 * SECOND, 3, 6 * SECOND],
  [2 * MINUTE, 25, 130 * SECOND],
])(
  'the first video of a worker, ready after %d ms, needs at most %d polls and is found within %d ms',
  async (jobTimeMs, most, within) => {
    await inWorld(env, { jobTimeMs }, async ({ videos }) => {
      const job = await videos.start({ request });
      const { polls, waitedMs } = await job.result();
      expect(polls).toBeLessThanOrEqual(most);
      expect(waitedMs).toBeLessThan(within);
      const history = await historyOf(env.temporal.client, job.workflowId);
      expect(timers(history)).toHaveLength(polls);
      const made = activities(history).filter(({ type }) => type === 'pollVideo');
      expect(made.map(({ isLocal }) => isLocal)).toEqual(Array(polls).fill(true));
    });
  },
);

test('a worker learns from its jobs: later ones need fewer polls', async () => {
  const wrapService = (service: VideoService) => ({ ...service, address: 'https://learned.example/' });
  await inWorld(env, { jobTimeMs: 90 * SECOND, wrapService }, async ({ videos }) => {
    const polls: number[] = [];
    for (let job = 0; job < 6; job++) polls.push((await (await videos.start({ request })).result()).polls);
    const [first = 0, last = 0] = [polls[0], polls.at(-1)];
    expect(last).toBeLessThan(0.75 * first);
  });
});

test('failed polls are made again after ever longer delays, or after what the service asks for', async () => {
  await inWorld(env, { jobTimeMs: 10 * SECOND }, async ({ emulator, videos }) => {
    const refused = { kind: 'refused', status: 401, message: 'key expired' } as const;
    emulator.next('status', refused, refused, { kind: 'rate-limited', retryAfter: 300 });
    const job = await videos.start({ request, polling: { min: '10s', max: '10s' } });
    expect(await job.result()).toMatchObject({ polls: 4 });
    const delays = timers(await historyOf(env.temporal.client, job.workflowId)).map(({ ms }) => ms);
    expect(delays.slice(0, 3)).toEqual([10, 20, 40].map((seconds) => seconds * SECOND));
    expect(delays[3]).toBeGreaterThanOrEqual(300 * SECOND);
  });
});
