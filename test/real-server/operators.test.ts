import type { VideoJob } from '../../src/client/video-job';
import { DEFAULT_TASK_QUEUE, POLL_NOW_SIGNAL, submitQueueOf } from '../../src/contract/names';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { commandsOf, expectShown, readPage, type ShownCommand, sectionOf } from '../support/docs-page';
import { historyOf } from '../support/history';
import { captureLogs } from '../support/logs';
import { runInShell } from '../support/temporal-command';
import { inWorld, pause, untilProgress } from '../support/world';

/** Commands of Temporal's CLI that the pages have for those on call. */

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

async function runShown(shown: ShownCommand | undefined, word: string, by: string): Promise<void> {
  if (!shown) throw new Error('The page does not show the command.');
  expect(shown.command).toContain(word);
  const replaced = (text: string) => text.replace(word, by);
  const { code, text } = await runInShell(env.temporal.address, replaced(shown.command));
  expect(code).toBe(0);
  expectShown({ command: replaced(shown.command), output: shown.output.map(replaced) }, text);
}

const request = { prompt: 'A red fox' };

/** Waits until the history has this many events of a kind. */
async function untilEvents({ workflowId }: VideoJob, kind: string, count: number): Promise<void> {
  const seen = async () => {
    const { events } = await historyOf(env.temporal.client, workflowId);
    return (events ?? []).filter((event) => kind in event && event[kind as keyof typeof event]).length;
  };
  while ((await seen()) < count) await pause();
}

test('the submits of a queue stop, and go on, without a restart', async () => {
  const [stop, goOn] = commandsOf(sectionOf(readPage('rate-limits.md'), 'Stop all submits'));
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, taskQueue }) => {
    const queue = submitQueueOf(taskQueue);
    await runShown(stop, submitQueueOf(DEFAULT_TASK_QUEUE), queue);
    const job = await videos.start({ request });
    await untilEvents(job, 'activityTaskScheduledEventAttributes', 1);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(emulator.generations()).toEqual([]);
    await runShown(goOn, submitQueueOf(DEFAULT_TASK_QUEUE), queue);
    await job.result();
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a job that a signal has stopped continues with its task after the reset', async () => {
  const [reset] = commandsOf(sectionOf(readPage('failures.md'), 'A signal that cannot be decoded'));
  await inWorld(env, { jobTimeMs: 5_000 }, async ({ emulator, videos }) => {
    const job = await videos.start({ request });
    await untilProgress(job, ({ taskId }) => taskId !== undefined);
    await env.temporal.client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: job.workflowId },
      signalName: POLL_NOW_SIGNAL,
      input: {
        payloads: [{ metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('x') }],
      },
    });
    await untilEvents(job, 'workflowTaskFailedEventAttributes', 1);
    await runShown(reset, 'fox-1', job.workflowId);
    const { client } = env.temporal;
    expect(await client.workflow.getHandle(job.workflowId).result()).toMatchObject({
      taskId: expect.any(String),
    });
    expect(emulator.generations()).toHaveLength(1);
  });
});
