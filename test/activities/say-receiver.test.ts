import { createSayReceiver } from '../../activities/say-receiver';
import { createFailure } from '../../src/contract/video-failure';

const sender = (defaultUrl?: string) => ({ defaultUrl, send: async () => ({ status: 204 }) });
const RECEIVER = 'https://receiver.example/hook';
interface Result {
  taskId?: string;
  hasReceiver?: true;
}
const failing = (error: unknown) => async (): Promise<Result> => {
  throw error;
};

test.each([undefined, sender()])('a worker without a receiver changes nothing', async (none) => {
  const activity = async (): Promise<Result> => ({});
  expect(createSayReceiver(none)(activity)).toBe(activity);
});

test('a worker with a receiver says so in the result', async () => {
  const activity = createSayReceiver(sender(RECEIVER))(
    async (taskId: string): Promise<Result> => ({ taskId }),
  );
  expect(await activity('task-1')).toEqual({ taskId: 'task-1', hasReceiver: true });
});

test('and in a failure, beside its details', async () => {
  const failure = createFailure('Unauthorized', { attempt: 1 });
  await expect(createSayReceiver(sender(RECEIVER))(failing(failure))(undefined)).rejects.toBe(failure);
  expect(failure.details).toEqual([{ attempt: 1 }, { hasReceiver: true }]);
});

test('an error of another kind stays as it is', async () => {
  const bug = Object.assign(new TypeError('a bug'), { details: [] });
  await expect(createSayReceiver(sender(RECEIVER))(failing(bug))(undefined)).rejects.toBe(bug);
  expect(bug.details).toEqual([]);
});
