import type { WorkflowExecutionDescription } from '@temporalio/client';
import { webhookPayload } from '../../src/contract/webhook';
import { callerOfWorkflow, taskIdFor, workflowIdOf } from '../../src/gateway/task-names';
import { type Ending, toVideoObject, videoObject } from '../../src/gateway/video-object';

const usd = (amount: number) => ({ amount, currency: 'USD' });

function costOf(memo: Record<string, unknown>, ending?: Ending) {
  const description = { memo, startTime: new Date(0) } as WorkflowExecutionDescription;
  const shown = toVideoObject('video_1', description, ending, 'http://127.0.0.1');
  return videoObject.parse(shown).cost;
}

const ended = (cost: object): Ending => ({
  result: {
    taskId: 'task_1',
    video: { uri: 'file:///fox.mp4', bytes: 1, sha256: '', contentType: 'video/mp4' },
    polls: 1,
    waitedMs: 1,
    warnings: [],
    ...cost,
  },
});

test.each<[what: string, memo: Record<string, unknown>, ending: Ending | undefined, cost: object | null]>([
  ['is null when nothing is known', {}, undefined, null],
  [
    'is estimated while the job runs',
    { videoCost: { estimated: usd(0.5), service: 'Ark' } },
    undefined,
    { estimated: usd(0.5), charged: null, unknown: null },
  ],
  [
    'is unknown with the reason',
    { videoCost: { unknown: 'why' } },
    undefined,
    { estimated: null, charged: null, unknown: 'why' },
  ],
  [
    'is that of the result at the end',
    { videoCost: { estimated: usd(9) } },
    ended({ cost: { charged: usd(0.45) } }),
    { estimated: null, charged: usd(0.45), unknown: null },
  ],
  [
    'is that of the memo in a result of an earlier version',
    { videoCost: { estimated: usd(0.5) } },
    ended({}),
    { estimated: usd(0.5), charged: null, unknown: null },
  ],
  ['is null if somebody wrote nonsense', { videoCost: { estimated: 'much' } }, undefined, null],
])('the cost of a video %s', (_what, memo, ending, cost) => {
  expect(costOf(memo, ending)).toEqual(cost);
});

test('a webhook says what the job costs', () => {
  const delivery = { event: 'video.completed', job: 'fox-1', timestamp: '2026-01-01T12:00:00.000Z' } as const;
  expect(webhookPayload({ ...delivery, cost: { charged: usd(0.45) } }).data).toEqual({
    id: 'fox-1',
    cost: { charged: usd(0.45) },
  });
  expect(JSON.stringify(webhookPayload(delivery))).not.toContain('cost');
});

test('the caller of a job is in its name, also of a retry, and other jobs have none', () => {
  const workflowId = workflowIdOf('web_shop', taskIdFor('web_shop', 'key'));
  expect([callerOfWorkflow(workflowId), callerOfWorkflow(`${workflowId}-retry-1`)]).toEqual([
    'web_shop',
    'web_shop',
  ]);
  expect([
    callerOfWorkflow('gateway-x'),
    callerOfWorkflow('fox'),
    callerOfWorkflow(`my-${workflowId}`),
  ]).toEqual([undefined, undefined, undefined]);
});
