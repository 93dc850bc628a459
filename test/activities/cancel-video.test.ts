import { createCancelVideo } from '../../activities/cancel-video';
import type { FindTools } from '../../activities/service-tools';
import { type CancelAnswer, ServiceFault } from '../../src/service';
import type { EmulatedRefusal } from '../../src/testing/faults';
import { type ActivityWorld, asJob, createActivityWorld, failureOf, startAttempt } from './activity-world';

const profile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld({ cancelling: true, jobTimeMs: 3_600_000 });
});
afterAll(() => world.close());

async function cancel(fault?: EmulatedRefusal): Promise<unknown> {
  const { emulator } = world;
  const { cancelVideo, submitVideo } = world.activitiesAt(emulator.url, { profile });
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }, asJob()).result;
  if (fault) emulator.next('cancel', fault);
  return world.run(cancelVideo, { taskId }).result;
}

test('a task is cancelled at a service whose profile says how', async () => {
  expect(await cancel()).toBe('asked');
  expect(world.emulator.generations()[0]?.cancelledAtMs).toBeDefined();
});

test.each([400, 404, 409, 499])('a %i is a refusal, which is not tried again', async (status) => {
  expect(await cancel({ kind: 'refused', status, message: 'no' })).toBe('refused');
});

test.each<[string, EmulatedRefusal]>([
  ['a 429', { kind: 'rate-limited' }],
  ['a 500', { kind: 'server-error', status: 500 }],
  ['a 503', { kind: 'server-error', status: 503 }],
])('%s fails, so that Temporal tries again', async (_what, fault) => {
  await expect(cancel(fault)).rejects.toMatchObject({ nonRetryable: false });
});

describe('what a service answers', () => {
  const cancelAt = (status: number | undefined, reported: unknown[] = []) => {
    const cancelTask = async (): Promise<CancelAnswer> => {
      if (status === undefined) return 'not-offered';
      if (status < 300) return 'asked';
      throw new ServiceFault('answered', { status });
    };
    const asked: unknown[] = [];
    const recordTaskEnd = jest.fn();
    const find = ((choice: unknown) => {
      asked.push(choice);
      return { service: { cancel: cancelTask }, rateLimiter: { recordTaskEnd } };
    }) as object as FindTools;
    const input = { taskId: 'task-1', service: 'a' };
    return { asked, recordTaskEnd, ...startAttempt(createCancelVideo(find), input, {}, reported) };
  };

  test.each([400, 499])('with %i is a refusal', async (status) => {
    expect(await cancelAt(status).result).toBe('refused');
  });

  test.each([399, 500])('with %i is none, and the failure names the task', async (status) => {
    const { details } = await failureOf(cancelAt(status));
    expect(details).toMatchObject({ status, taskId: 'task-1' });
  });

  test('is the answer of the service that has the task', async () => {
    const { asked, result } = cancelAt(200);
    expect(await result).toBe('asked');
    expect(asked).toEqual(['a']);
  });

  test('frees the place of the task if it was asked, since nobody polls it any more', async () => {
    const [asked, notOffered] = [cancelAt(200), cancelAt(undefined)];
    await Promise.all([asked.result, notOffered.result]);
    expect(asked.recordTaskEnd).toHaveBeenCalledTimes(1);
    expect(notOffered.recordTaskEnd).not.toHaveBeenCalled();
  });

  test('is logged only if it was asked', async () => {
    const [said, unsaid]: unknown[][] = [[], []];
    await cancelAt(200, said).result;
    await cancelAt(undefined, unsaid).result;
    expect(JSON.stringify(said)).toContain('task-1');
    expect(JSON.stringify(unsaid)).not.toContain('task-1');
  });
});
