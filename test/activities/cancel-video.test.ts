import type { Refusal } from '../../src/emulator/faults';
import { type ActivityWorld, createActivityWorld } from './activity-world';

const profile = { cancel: { method: 'DELETE', path: '/v1/videos/{taskId}' } } as const;

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld({ cancelling: true, jobTimeMs: 3_600_000 });
});
afterAll(() => world.close());

async function cancel(fault?: Refusal): Promise<unknown> {
  const { emulator } = world;
  const { cancelVideo, submitVideo } = world.activitiesAt(emulator.url, { profile });
  const { taskId } = await world.run(submitVideo, {
    request: { prompt: 'A red fox' },
    job: `fox-${fault?.kind}`,
  }).result;
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

test.each<[string, Refusal]>([
  ['a 429', { kind: 'rate-limited' }],
  ['a 500', { kind: 'server-error', status: 500 }],
  ['a 503', { kind: 'server-error', status: 503 }],
])('%s fails, so that Temporal tries again', async (_what, fault) => {
  await expect(cancel(fault)).rejects.toMatchObject({ nonRetryable: false });
});
