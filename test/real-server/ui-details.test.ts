import { readFileSync } from 'node:fs';
import { createVideoActivities } from '../../activities';
import { webhookId } from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { activities, type HistoryEvent, historyOf, timers } from '../support/history';
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
  const events: HistoryEvent[] = [];
  for (let runId: string | undefined; ; ) {
    const run = (await historyOf(env.temporal.client, workflowId, runId)).events ?? [];
    events.push(...run);
    runId = run[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
    if (runId === undefined) break;
  }
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
  await inWorld(env, { jobTimeMs: 1_500 }, async ({ emulator, service, storageFolder, videos }) => {
    const [request = { prompt: '' }] = requests(1);
    emulator.next('submit', { kind: 'reset' });
    const held = await videos.start({ request, polling: EVERY_SECOND });
    await untilProgress(held, ({ phase }) => phase === 'needs-decision');
    await held.decideSubmit({ decision: 'resubmit' });
    await held.result();
    lines.push(...(await timelineOf(held.workflowId)));

    emulator.next('submit', { kind: 'reset' });
    const found = await videos.start({ request, polling: EVERY_SECOND });
    await untilProgress(found, ({ phase }) => phase === 'needs-decision');
    const { taskId } = emulator.generations().at(-1) ?? { taskId: '' };
    await found.decideSubmit({ decision: 'adopt', taskId });
    await found.result();
    lines.push(...(await timelineOf(found.workflowId)));

    const cancelled = await videos.start({ request });
    await untilProgress(cancelled, ({ phase }) => phase === 'waiting');
    await cancelled.cancel();
    await failureOf(cancelled.result());
    lines.push(...(await timelineOf(cancelled.workflowId)));

    const unsent = await videos.start({ request }, submittingOn('nobody'));
    await untilProgress(unsent, ({ phase }) => phase === 'submitting');
    await unsent.cancel();
    await failureOf(unsent.result());
    lines.push(...(await timelineOf(unsent.workflowId)));

    const storage = createFileStorage(storageFolder);
    const file = requests(3).map((one) => JSON.stringify(one));
    await storage.write('foxes.jsonl', file.join('\n'), 'text/plain');
    const ofFile = await videos.startBatch({ requestsFrom: 'foxes.jsonl', polling: EVERY_SECOND });
    await ofFile.result();
    lines.push(...(await timelineOf(ofFile.workflowId)));

    emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
    const stopped = () =>
      videos.startBatch(
        { requests: [request], onFailure: 'stop', polling: EVERY_SECOND },
        { workflowId: 'stopped-foxes' },
      );
    await failureOf((await stopped()).result());
    await (await stopped()).result();
    lines.push(...(await timelineOf('stopped-foxes')));

    await videos.start({ request, polling: EVERY_SECOND }, { workflowId: 'joined-foxes-1' });
    const joining = { requests: [request], polling: EVERY_SECOND };
    await (await videos.startBatch(joining, { workflowId: 'joined-foxes' })).result();
    lines.push(...(await timelineOf('joined-foxes')));

    const announced = await videos.start({
      request,
      polling: EVERY_SECOND,
      callbackUrl: 'https://example.com/hooks',
    });
    await announced.result();
    const { runId } = await workflow(announced.workflowId).describe();
    const deliveryId = webhookId(runId, 'video.completed', 1);
    let delivery = await timelineOf(deliveryId);
    while (delivery.length === 0) {
      await pause();
      delivery = await timelineOf(deliveryId);
    }
    lines.push(...delivery);

    const elsewhere = await videos.start({ request, service: 'nowhere' });
    await failureOf(elsewhere.result());
    lines.push(...(await timelineOf(elsewhere.workflowId)));

    const impatient = await videos.start({ request, submitWithin: '1s' }, submittingOn('nobody'));
    await failureOf(impatient.result());
    lines.push(...(await timelineOf(impatient.workflowId)));

    const several = await videos.start({ request, services: ['nowhere', 'elsewhere'] });
    await failureOf(several.result());
    lines.push(...(await timelineOf(several.workflowId)));

    expect(lines.filter(({ summary }) => !summary)).toEqual([]);
    expect(lines).toContainEqual({ type: 'timer', summary: 'for a decision: adopt, resubmit or abandon' });
    // The test of a queue that nobody serves sees isServed.
    const { isServed, ...others } = createVideoActivities({ service, storage });
    const all = Object.keys(others);
    expect(new Set(lines.map(({ type }) => type))).toEqual(new Set([...all, 'timer']));
  });
});

test('a job shows its request and its progress', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ videos }) => {
    const request = {
      prompt: 'A red fox',
      image_url: 'https://cdn.example.com/fox.png?signature=secret',
      duration: 5,
    };
    const job = await videos.start({ request, deadline: '2h', storage: 'foxes/' });
    await untilProgress(job, ({ phase }) => phase === 'waiting');
    const description = await workflow(job.workflowId).describe();
    expect(await description.staticSummary()).toBe('image to video, 5 s: "A red fox"');
    expect(await description.staticDetails()).toBe(
      '> A red fox\n\n- image\\_url: `https://cdn.example.com/fox.png?…`\n- duration: `5`',
    );
    expect(await currentDetailsOf(job.workflowId)).toMatch(
      /^\*\*Waiting for the video\*\*\n\nTask `task_\S+`\n/,
    );
    await job.cancel();
    await failureOf(job.result());
    expect(await currentDetailsOf(job.workflowId)).toMatch(/^\*\*The job was cancelled\*\*\n/);
  });
});

test('a batch shows its first request and its progress', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ videos }) => {
    const batch = await videos.startBatch({ requests: requests(2), window: 1 });
    await untilProgress(batch, ({ running }) => running.length === 1);
    expect(await currentDetailsOf(batch.workflowId)).toBe(
      '**0 of 2 videos are stored**\n\n0 failed, 1 running: each is a child workflow of this one',
    );
    const description = await workflow(batch.workflowId).describe();
    expect(await description.staticSummary()).toBe('batch of 2, the first: "Fox 1"');
    // The requests are in its input, and each item has its own details.
    expect(await description.staticDetails()).toBeUndefined();
    await batch.cancel();
    await failureOf(batch.result());
  });
});
