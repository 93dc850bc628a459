import { MADE_FOR_MEMO } from '../../src/contract/names';
import { Job } from '../../workflows/job';
import { notifyReceiver } from '../../workflows/notify';

const mockInfo: { workflowId: string; parent?: object; memo?: object } = { workflowId: 'fox' };
const mockStartChild = jest.fn();

jest.mock('@temporalio/workflow', () => ({
  ...jest.requireActual('@temporalio/workflow'),
  workflowInfo: () => mockInfo,
  startChild: () => mockStartChild(),
}));
const input = { request: { prompt: 'A red fox' } };

test('a job that continues as new still knows that its worker has a receiver', () => {
  const job = new Job(input);
  expect(new Job(input, job.carry()).hasReceiver).toBe(false);
  job.recordReceiver(true);
  // A later worker may have none.
  job.recordReceiver(undefined);
  expect(new Job(input, job.carry()).hasReceiver).toBe(true);
});

test.each(['batch', 'fallback'])(
  'a part of a %s sends no webhooks, whatever its worker has',
  async (kind) => {
    Object.assign(mockInfo, { parent: { workflowId: 'foxes' }, memo: { [MADE_FOR_MEMO]: kind } });
    const part = new Job({ ...input, callbackUrl: 'https://receiver.example' });
    part.recordReceiver(true);
    await notifyReceiver(part, 'video.completed');
    expect(mockStartChild).not.toHaveBeenCalled();
  },
);
