import { isVideoFailure } from '../../src/contract';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld } from '../support/world';

jest.setTimeout(120_000);

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

test('a job that is refused until its deadline ends with it: nobody is asked to decide on what made no task', async () => {
  // One generation at a time, which outlasts every deadline: all other submits are answered 429.
  await inWorld(env, { jobTimeMs: 600_000, concurrentTasks: 1 }, async ({ videos, emulator }) => {
    const first = await videos.start({ request: { prompt: 'Fox 0' } });
    await first.taskId();
    const jobs = [1, 2, 3].map((number) =>
      videos.start({ request: { prompt: `Fox ${number}` }, deadline: '15s' }),
    );
    for (const job of jobs) {
      // Held, it would not end within a day.
      const failure = await failureOf((await job).result());
      if (!isVideoFailure(failure)) throw failure;
      // Which of them depends on whether an attempt or a pause is under way then.
      expect(['RateLimited', 'DeadlineExceeded']).toContain(failure.type);
    }
    expect(emulator.generations()).toHaveLength(1);
    await first.cancel();
  });
});
