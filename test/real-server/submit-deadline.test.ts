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

test('a job whose submits are refused fails at its deadline without a hold, because there is no task', async () => {
  // The only concurrent task outlasts every deadline, so all other submits are answered 429.
  await inWorld(env, { jobTimeMs: 600_000, concurrentTasks: 1 }, async ({ videos, emulator }) => {
    const first = await videos.start({ request: { prompt: 'Fox 0' } });
    await first.taskId();
    const jobs = [1, 2, 3].map((number) =>
      videos.start({ request: { prompt: `Fox ${number}` }, deadline: '15s' }),
    );
    for (const job of jobs) {
      // A held job would not end within a day.
      const failure = await failureOf((await job).result());
      if (!isVideoFailure(failure)) throw failure;
      // Depends on whether the deadline falls into an attempt or a pause.
      expect(['RateLimited', 'DeadlineExceeded']).toContain(failure.type);
    }
    expect(emulator.generations()).toHaveLength(1);
    await first.cancel();
  });
});
