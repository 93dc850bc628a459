import { createVideoActivities, type VideoActivities } from '../../activities';
import { createFileStorage } from '../../src/storage';
import type { EmulatedCall } from '../../src/testing/faults';
import { type ActivityWorld, asJob, createActivityWorld, failureOf } from './activity-world';

const request = { prompt: 'A red fox' };
/** The pause outlasts the test. */
const limited = { kind: 'rate-limited', retryAfter: 60 } as const;

let world: ActivityWorld;
let activities: VideoActivities;
let taskId: string;
beforeEach(async () => {
  world = await createActivityWorld();
  // One rate limiter for all calls of a test, as in a worker process.
  activities = createVideoActivities({ service: world.service, storage: createFileStorage(world.folder) });
  ({ taskId } = await world.run(activities.submitVideo, { request }).result);
});
afterEach(() => world.close());

const calls: Record<EmulatedCall & ('submit' | 'status' | 'download'), () => ReturnType<typeof world.run>> = {
  submit: () => world.run(activities.submitVideo, { request }, asJob()),
  status: () => world.run(activities.pollVideo, { taskId }),
  download: () => world.run(activities.downloadVideo, { taskId }),
};
const countOf = (call: EmulatedCall) => world.emulator.calls.filter((made) => made.call === call).length;

describe.each(['submit', 'status', 'download'] as const)('a 429 to a %s', (limitedCall) => {
  it('pauses that call for every job of the process: nothing is sent, and the failure says when to retry', async () => {
    world.emulator.next(limitedCall, limited);
    await failureOf(calls[limitedCall]());
    const made = countOf(limitedCall);
    const { failure, details } = await failureOf(calls[limitedCall]());
    expect([failure.type, failure.nonRetryable]).toEqual(['RateLimited', false]);
    expect(failure.message).toContain('nothing was sent');
    expect(details.retryAfter).toBeGreaterThan(30);
    expect(details.retryAfter).toBeLessThanOrEqual(60);
    expect(countOf(limitedCall)).toBe(made);
  });

  it('does not pause the other calls', async () => {
    world.emulator.next(limitedCall, limited);
    await failureOf(calls[limitedCall]());
    // A download polls first.
    const others = (['submit', 'status'] as const).filter((call) => call !== limitedCall);
    for (const other of others) await calls[other]().result;
  });
});

it('a submit that the rate limiter paused notes that it made no task', async () => {
  world.emulator.next('submit', limited);
  await failureOf(calls.submit());
  const second = calls.submit();
  await failureOf(second);
  expect(second.beats).toEqual([{ attemptWithoutTask: 1 }]);
});

it('a task that ends lets one submit through before the guessed pause is over', async () => {
  world.emulator.next('submit', { kind: 'rate-limited' });
  await failureOf(calls.submit());
  await calls.status().result;
  await calls.submit().result;
  expect((await failureOf(calls.submit())).failure.message).toContain('nothing was sent');
});
