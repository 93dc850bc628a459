import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { activityInfo, cancelled } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
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

test('a task that only the last heartbeat of a submit names is polled at the deadline, and not held', async () => {
  let folder = '';
  const hanging: ActivityInboundCallsInterceptor = {
    execute: async (input, next) => {
      const result = await next(input);
      if (activityInfo().activityType !== 'submitVideo') return result;
      await rm(join(folder, 'jobs'), { recursive: true });
      // Temporal gives the attempt up at the deadline.
      await cancelled();
      return result;
    },
  };
  const worker = {
    interceptors: { activity: [() => ({ inbound: hanging })] },
    maxHeartbeatThrottleInterval: '100ms' as const,
  };
  await inWorld(env, { worker, jobTimeMs: 0 }, async ({ videos, emulator, storageFolder }) => {
    folder = storageFolder;
    const job = await videos.start({ request: { prompt: 'Fox' }, deadline: '15s' });
    expect((await job.result()).taskId).toBe(emulator.generations()[0]?.taskId);
    expect(emulator.generations()).toHaveLength(1);
  });
});
