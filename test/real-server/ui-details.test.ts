import { readFileSync } from 'node:fs';
import { createVideoActivities } from '../../activities';
import { webhookId } from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, historiesOf, timers } from '../support/history';
import { captureLogs } from '../support/logs';
import { submittingOn } from '../support/redirect-submits';
import { failureOf, inWorld, pause, untilProgress } from '../support/world';

const EVERY_SECOND = { min: '1s', max: '1s' };
const requests = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

/** The lines of the UI's timeline over all runs of a workflow: activities and timers with their summaries. */
async function timelineOf(workflowId: string): Promise<{ type: string; summary?: string }[]> {
  const runs = await historiesOf(env.temporal.client, workflowId);
  const events = runs.reverse().flatMap((run) => run.events ?? []);
  return [
    ...activities({ events }).map(({ type, summary }) => ({ type, summary })),
    ...timers({ events }).map(({ summary }) => ({ type: 'timer', summary })),
  ];
}

const workflow = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId);

async function currentDetailsOf(workflowId: string): Promise<string> {
  const { currentDetails } = await workflow(workflowId).query<{ currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  return currentDetails;
}

test('the UI of the dev server has the buttons that our details name', () => {
  // The program contains the texts of the UI.
  const program = readFileSync(process.env.VIDEOGEN_TEMPORAL_CLI ?? '');
  for (const words of [
    '"more-actions":"More Actions"',
    'update:"Send an Update"',
    'signal:"Send a Signal"',
  ]) {
    expect([words, program.includes(words)]).toEqual([words, true]);
  }
});

test('every timer and every activity of jobs and batches has a summary', async () => {
  const lines: { type: string; summary?: string }[] = [];
  const record = async ({ workflowId }: { workflowId: string }) =>
    lines.push(...(await timelineOf(workflowId)));
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, service, storageFolder, videos }) => {
    const [request = { prompt: '' }] = requests(1);
    for (const decision of ['resubmit', 'adopt'] as const) {
      emulator.next('submit', { kind: 'reset' });
      const held = await videos.start({ request, polling: EVERY_SECOND });
      await untilProgress(held, ({ phase }) => phase === 'needs-decision');
      const taskId = emulator.generations().at(-1)?.taskId ?? '';
      await held.decideSubmit(decision === 'adopt' ? { decision, taskId } : { decision });
      await held.result();
      await record(held);
    }

    emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
    const startStopping = () =>
      videos.startBatch(
        { requests: [request], onFailure: 'stop', polling: EVERY_SECOND },
        { workflowId: 'stopped-foxes' },
      );
    const stopped = await startStopping();
    await failureOf(stopped.result());
    await (await startStopping()).result();
    await record(stopped);

    const cancelled = await videos.start({ request, polling: { min: '1h' } });
    await untilProgress(cancelled, ({ phase }) => phase === 'waiting');
    const unsent = await videos.start({ request }, submittingOn('nobody'));
    await untilProgress(unsent, ({ phase }) => phase === 'submitting');
    for (const job of [cancelled, unsent]) await job.cancel();
    const failing = [
      cancelled,
      unsent,
      await videos.start({ request, service: 'nowhere' }),
      await videos.start({ request, submitWithin: '1s' }, submittingOn('nobody')),
      await videos.start({ request, services: ['nowhere', 'elsewhere'] }),
    ];

    const storage = createFileStorage(storageFolder);
    const file = requests(3).map((one) => JSON.stringify(one));
    await storage.write('foxes.jsonl', file.join('\n'), 'text/plain');
    const callbackUrl = 'https://example.com/hooks';
    const announced = await videos.start({ request, polling: EVERY_SECOND, callbackUrl });
    await videos.start({ request, polling: EVERY_SECOND }, { workflowId: 'joined-foxes-1' });
    const ending = [
      announced,
      await videos.startBatch({ requestsFrom: 'foxes.jsonl', polling: EVERY_SECOND }),
      await videos.startBatch({ requests: [request], polling: EVERY_SECOND }, { workflowId: 'joined-foxes' }),
    ];
    await Promise.all([
      ...failing.map((job) => failureOf(job.result())),
      ...ending.map((job) => job.result()),
    ]);
    const { runId } = await workflow(announced.workflowId).describe();
    const delivery = webhookId(runId, 'video.completed', 1);
    while ((await timelineOf(delivery)).length === 0) await pause();
    for (const job of [...failing, ...ending, { workflowId: delivery }]) await record(job);

    expect(lines.filter(({ summary }) => !summary)).toEqual([]);
    expect(lines).toContainEqual({ type: 'timer', summary: 'for a decision: adopt, resubmit or abandon' });
    // The test of a queue that nobody serves sees isServed.
    const { isServed, ...others } = createVideoActivities({ service, storage });
    expect(new Set(lines.map(({ type }) => type))).toEqual(new Set([...Object.keys(others), 'timer']));
  });
});

test('a job shows its request and its progress, and a batch its first request', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ videos }) => {
    const request = {
      prompt: 'A red fox',
      image_url: 'https://cdn.example.com/fox.png?signature=secret',
      duration: 5,
    };
    const job = await videos.start({ request, deadline: '2h', storage: 'foxes/' });
    const batch = await videos.startBatch({ requests: requests(2), window: 1 });
    await untilProgress(job, ({ phase }) => phase === 'waiting');
    const ofJob = await workflow(job.workflowId).describe();
    expect(await ofJob.staticSummary()).toBe('image to video, 5 s: "A red fox"');
    expect(await ofJob.staticDetails()).toBe(
      '> A red fox\n\n- image\\_url: `https://cdn.example.com/fox.png?…`\n- duration: `5`',
    );
    expect(await currentDetailsOf(job.workflowId)).toMatch(
      /^\*\*Waiting for the video\*\*\n\nTask `task_\S+`\n/,
    );
    await job.cancel();
    await failureOf(job.result());
    expect(await currentDetailsOf(job.workflowId)).toMatch(/^\*\*The job was cancelled\*\*\n/);

    await untilProgress(batch, ({ running }) => running.length === 1);
    expect(await currentDetailsOf(batch.workflowId)).toBe(
      '**0 of 2 videos are stored**\n\n0 failed, 1 running: each is a child workflow of this one',
    );
    const ofBatch = await workflow(batch.workflowId).describe();
    expect(await ofBatch.staticSummary()).toBe('batch of 2, the first: "Fox 1"');
    // The requests are in its input, and each item has its own details.
    expect(await ofBatch.staticDetails()).toBeUndefined();
    await batch.cancel();
    await failureOf(batch.result());
  });
});
