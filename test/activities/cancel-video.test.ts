import { type CancelAnswer, ServiceFault } from '../../src/service';
import { createActivityWorld, failureOf } from './activity-world';
import { createMemoryWorld, TASK } from './memory-world';

const never = () => Promise.reject(new Error('it is not asked'));

const answering = (cancel: () => Promise<CancelAnswer>) =>
  createMemoryWorld(undefined, { service: { cancel } });
const refusing = (status: number) =>
  answering(() => Promise.reject(new ServiceFault('answered', { status })));

test('a task is cancelled at a service whose profile says how', async () => {
  const world = await createActivityWorld({ cancelling: true, jobTimeMs: 3_600_000 });
  const profile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;
  const { cancelVideo, submitVideo } = world.activitiesAt(world.emulator.url, { profile });
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
  expect(await world.run(cancelVideo, { taskId }).result).toBe('asked');
  expect(world.emulator.generations()[0]?.cancelledAtMs).toBeDefined();
  await world.close();
});

test('a cancellation goes to the service that has the task', async () => {
  const world = createMemoryWorld(undefined, {
    service: { cancel: never },
    services: { a: { start: never, status: never, open: never, cancel: async () => 'asked' } },
  });
  expect(await world.cancel({ service: 'a' }).result).toBe('asked');
  await expect(world.cancel().result).rejects.toThrow('it is not asked');
});

test('a cancellation is logged only if the service was asked', async () => {
  for (const answer of ['asked', 'not-offered'] as const) {
    const world = answering(async () => answer);
    expect(await world.cancel().result).toBe(answer);
    expect(world.linesOf('cancelAsked')).toEqual(answer === 'asked' ? [{ taskId: TASK }] : []);
  }
});

test.each([400, 404, 409, 499])(
  'HTTP %i to a cancellation is a refusal, which is not tried again',
  async (status) => {
    expect(await refusing(status).cancel().result).toBe('refused');
  },
);

test.each([399, 429, 500, 503])(
  'HTTP %i to a cancellation fails with the task, and Temporal tries again',
  async (status) => {
    const { failure, details } = await failureOf(refusing(status).cancel());
    expect(failure.nonRetryable).toBe(false);
    expect(details).toMatchObject({ status, taskId: TASK });
  },
);
