import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineSearchAttributeKey } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { ConfigError } from '../../src/config/service-config';
import { webhookId } from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { runHere } from '../cli/cli-here';
import { activities, historiesOf, historyOf, timers } from '../support/history';
import { captureLogs } from '../support/logs';
import { submittingOn } from '../support/redirect-submits';
import { failureOf, inWorld, pause, untilProgress, type World } from '../support/world';

const request = { prompt: 'A red fox' };
const requests = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));
const EVERY_SECOND = { min: '1s', max: '1s' };
const PHASE = defineSearchAttributeKey('VideoPhase', 'KEYWORD');

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({
    server: 'dev',
    // So that a job continues as new after a few polls.
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': '40' },
  });
});
afterAll(() => env.teardown());

const workflow = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId);

const searchable = ({ taskQueue }: Pick<World, 'taskQueue'>): Promise<VideoClient> =>
  createVideoClient({ client: env.temporal.client, taskQueue, env: { VIDEOGEN_SEARCH_ATTRIBUTES: 'true' } });

/** Temporal's lists are updated with a delay. */
async function untilListed(query: string): Promise<string[]> {
  for (;;) {
    const found: string[] = [];
    for await (const { workflowId } of env.temporal.client.workflow.list({ query })) found.push(workflowId);
    if (found.length > 0) return found;
    await pause();
  }
}

async function attributesOf(workflowId: string): Promise<Record<string, unknown>> {
  const { typedSearchAttributes } = await workflow(workflowId).describe();
  const ours = typedSearchAttributes.getAll().filter(({ key }) => key.name.startsWith('Video'));
  return Object.fromEntries(ours.map(({ key, value }) => [key.name, value]));
}

async function upsertsOf(workflowId: string): Promise<number> {
  const { events } = await historyOf(env.temporal.client, workflowId);
  return (events ?? []).filter((event) => event.upsertWorkflowSearchAttributesEventAttributes).length;
}

describe('in a namespace without our search attributes', () => {
  const unserved = { taskQueue: 'nobody' };

  test('a start fails with one sentence: what is missing, where, and what to do', async () => {
    const videos = await searchable(unserved);
    for (const start of [videos.start, videos.submit, videos.execute]) {
      const error = await failureOf(start({ request }));
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toMatch(
        /^ConfigError: The job was not started, because .+ namespace default \(.*Video(TaskId|Phase|Outcome).*\): register them with: videogen doctor --register, or start jobs without them \(searchAttributes: false, VIDEOGEN_SEARCH_ATTRIBUTES=false\)\.$/,
      );
    }
  });

  test('an error about an attribute of the caller is not changed', async () => {
    const videos = await createVideoClient({
      client: env.temporal.client,
      ...unserved,
      searchAttributes: false,
    });
    const typedSearchAttributes = [{ key: defineSearchAttributeKey('Fox', 'KEYWORD'), value: 'red' }];
    const error = await failureOf(videos.start({ request }, { temporal: { typedSearchAttributes } }));
    expect(error).toMatchObject({ cause: { message: expect.stringContaining('attribute Fox') } });
    expect(error).not.toBeInstanceOf(ConfigError);
  });

  test('doctor reports what is missing and how to register it, to a client that uses them', async () => {
    const settings = { TEMPORAL_ADDRESS: env.temporal.address, VIDEOGEN_SEARCH_ATTRIBUTES: 'true' };
    const { out } = await runHere(['doctor'], settings);
    expect(out).toMatch(/namespace.+ has no search attributes VideoTaskId, VideoPhase, VideoOutcome/);
    expect(out).toContain(
      'Register them with: videogen doctor --register; or unset VIDEOGEN_SEARCH_ATTRIBUTES.',
    );
  });
});

describe('with our search attributes registered', () => {
  beforeAll(async () => {
    const attributes = ['VideoTaskId', 'VideoPhase', 'VideoOutcome'];
    const settings = { TEMPORAL_ADDRESS: env.temporal.address };
    const { code, out } = await runHere(['doctor', '--register', '--json'], settings);
    expect([code, JSON.parse(out)]).toEqual([0, { namespace: 'default', attributes }]);
  });

  test('a job is found by its task, its phase and its outcome, for three upserts', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos: withoutAttributes, taskQueue }) => {
      const videos = await searchable({ taskQueue });
      const job = await videos.start({ request, polling: EVERY_SECOND });
      const { taskId } = await job.result();
      expect(await untilListed(`VideoTaskId = '${taskId}' AND VideoOutcome = 'succeeded'`)).toEqual([
        job.workflowId,
      ]);
      expect(await upsertsOf(job.workflowId)).toBe(3);

      emulator.next('submit', { kind: 'failed-task', code: 'foxes', message: 'No foxes.' });
      const failed = await videos.start({ request, polling: EVERY_SECOND });
      await failureOf(failed.result());
      expect(await untilListed(`VideoOutcome = 'GenerationFailed'`)).toEqual([failed.workflowId]);
      expect(await attributesOf(failed.workflowId)).toMatchObject({ VideoPhase: 'failed' });

      const plain = await withoutAttributes.start({ request, polling: EVERY_SECOND });
      await plain.result();
      expect(await attributesOf(plain.workflowId)).toEqual({});
      expect(await upsertsOf(plain.workflowId)).toBe(0);
    });
  });

  test('a job that waits for a decision is found, and so is its task once it is adopted', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async (world) => {
      world.emulator.next('submit', { kind: 'reset' });
      const job = await (await searchable(world)).start({ request, polling: EVERY_SECOND });
      expect(await untilListed(`VideoPhase = 'needs-decision'`)).toEqual([job.workflowId]);
      const [{ taskId } = { taskId: '' }] = world.emulator.generations();
      await job.decideSubmit({ decision: 'adopt', taskId });
      expect(await untilListed(`VideoTaskId = '${taskId}' AND VideoPhase = 'waiting'`)).toEqual([
        job.workflowId,
      ]);
      await job.cancel();
      await failureOf(job.result());
    });
  });

  test('a job that adopts a task is found by it before a worker starts it, with the attributes of its caller', async () => {
    const videos = await searchable({ taskQueue: 'nobody' });
    const typedSearchAttributes = [{ key: PHASE, value: 'imported' }];
    const job = await videos.start({ taskId: 'task-of-yesterday' }, { temporal: { typedSearchAttributes } });
    expect(await untilListed(`VideoTaskId = 'task-of-yesterday'`)).toEqual([job.workflowId]);
    expect(await attributesOf(job.workflowId)).toEqual({
      VideoTaskId: 'task-of-yesterday',
      VideoPhase: 'imported',
      VideoOutcome: 'none',
    });
    const other = await videos.start({ taskId: 'task-of-today' });
    expect(await attributesOf(other.workflowId)).toMatchObject({ VideoPhase: 'waiting' });
  });

  test('a job that continues as new is still found', async () => {
    await inWorld(env, { jobTimeMs: 60_000 }, async (world) => {
      const { job, taskId } = await (await searchable(world)).submit({ request, polling: EVERY_SECOND });
      const handle = workflow(job.workflowId);
      const { runId, startTime } = await handle.describe();
      while ((await handle.describe()).runId === runId) {
        await job.pollNow();
        await pause();
      }
      await untilProgress(job, ({ phase }) => phase === 'waiting');
      expect(await attributesOf(job.workflowId)).toEqual({
        VideoTaskId: taskId,
        VideoPhase: 'waiting',
        VideoOutcome: 'none',
      });
      expect(await upsertsOf(job.workflowId)).toBe(0);
      // It is one job, as old as its first run.
      const overview = {
        workflowId: job.workflowId,
        startedAt: startTime.toISOString(),
        phase: 'waiting',
        taskId,
      };
      expect(await world.videos.find(job.workflowId)).toMatchObject(overview);
      const listed: unknown[] = [];
      for await (const one of world.videos.list({ states: ['running'] })) listed.push(one);
      expect(listed.filter((one) => Object(one).workflowId === job.workflowId)).toEqual([
        expect.objectContaining(overview),
      ]);
      await job.cancel();
      await failureOf(job.result());
      expect(await attributesOf(job.workflowId)).toMatchObject({ VideoOutcome: 'Cancelled' });
    });
  });

  test('a job started by its type updates only the attributes that it was started with', async () => {
    await inWorld(env, { jobTimeMs: 0 }, async ({ taskQueue }) => {
      const startByType = (input: unknown) =>
        env.temporal.client.workflow.start('generateVideo', {
          taskQueue,
          workflowId: `by-name-${randomUUID()}`,
          args: [input],
          typedSearchAttributes: [{ key: PHASE, value: 'new' }],
        });
      const job = await startByType({ request, polling: EVERY_SECOND });
      await job.result();
      expect(await attributesOf(job.workflowId)).toEqual({ VideoPhase: 'succeeded' });
      const refused = await startByType({ nonsense: true });
      await failureOf(refused.result());
      expect(await attributesOf(refused.workflowId)).toEqual({ VideoPhase: 'failed' });
    });
  });

  test('the server accepts every query in the documentation', async () => {
    const page = readFileSync(join(__dirname, '../../docs/observability.md'), 'utf8');
    const queries = [...page.matchAll(/--query "([^"]+)"/g)].map(([, query]) => query);
    expect(queries.length).toBeGreaterThan(4);
    for (const query of queries) await env.temporal.client.workflow.count(query);
    await expect(env.temporal.client.workflow.count("VideoFase = 'waiting'")).rejects.toThrow();
  });
});

/** The lines of the UI's timeline over all runs of a workflow: activities and timers with their summaries. */
async function timelineOf(workflowId: string): Promise<{ type: string; summary?: string }[]> {
  const runs = await historiesOf(env.temporal.client, workflowId);
  const events = runs.reverse().flatMap((run) => run.events ?? []);
  return [
    ...activities({ events }).map(({ type, summary }) => ({ type, summary })),
    ...timers({ events }).map(({ summary }) => ({ type: 'timer', summary })),
  ];
}

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
