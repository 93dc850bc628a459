import { setTimeout as sleep } from 'node:timers/promises';
import { orTellUnserved } from '../../src/client/missing-worker';

/** What Temporal says about the queue of a workflow and the queues of its pending activities. */
function handleWith({ pollers, pending = [] }: { pollers: Record<string, number>; pending?: string[] }) {
  const workflowService = {
    describeWorkflowExecution: async () => ({
      workflowExecutionInfo: { taskQueue: 'films' },
      pendingActivities: pending.map((name) => ({ activityOptions: { taskQueue: { name } } })),
    }),
    describeTaskQueue: async ({ taskQueue: { name } }: { taskQueue: { name: string } }) => ({
      pollers: Array.from({ length: pollers[name] ?? 0 }, () => ({})),
    }),
  };
  const connection = { withDeadline: (_: number, ask: () => Promise<unknown>) => ask() };
  const client = { options: { namespace: 'default' }, workflowService, connection };
  return { workflowId: 'fox-1', client } as unknown as Parameters<typeof orTellUnserved>[0];
}

async function toldOf(handle: ReturnType<typeof handleWith>, outcomeMs: number): Promise<string[]> {
  const lines: string[] = [];
  await orTellUnserved(handle, sleep(outcomeMs), (line) => lines.push(line), 20);
  return lines;
}

test.each([
  ['the job', { pollers: {} }, 'fox-1 waits: no worker polls the task queue films. Start one.'],
  [
    'its submit',
    { pollers: { films: 1 }, pending: ['films-submit'] },
    'fox-1 waits: no worker polls the task queue films-submit. Start one.',
  ],
])('whoever waits long is told once that nobody serves the queue of %s', async (_, world, line) => {
  expect(await toldOf(handleWith(world), 200)).toEqual([line]);
});

test('nothing is told while workers poll, or when the outcome comes soon', async () => {
  const served = { pollers: { films: 1, 'films-submit': 1 }, pending: ['films-submit'] };
  expect(await toldOf(handleWith(served), 200)).toEqual([]);
  expect(await toldOf(handleWith({ pollers: {} }), 0)).toEqual([]);
});
