import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { JobInput } from '../../src/contract/job';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { failureOf, keepRunning, pause, quickWorkflows, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
/** The test server skips no more time once a job has left a workflow behind. */
const polling = { min: '1s', max: '1s' } as const;
const secret = () => WEBHOOK_SECRET;

let env: VideoTestEnvironment;
let standard: WebhookReceiver;
/** Jobs on a worker without a default receiver. */
let videos: VideoClient;
/** Jobs on a worker whose default receiver is `standard`. */
let watched: VideoClient;
const receivers: WebhookReceiver[] = [];
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  captureLogs();
  standard = await receiver();
  env = await createVideoTestEnvironment({ emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
  const workers = {
    own: { secret, allow: ['127.0.0.1'] },
    watched: { secret, url: standard.url },
  };
  for (const [taskQueue, webhooks] of Object.entries(workers)) {
    const worker = await env.createWorker({
      taskQueue,
      webhooks,
      worker: quickWorkflows(),
    });
    stops.push(keepRunning(worker));
  }
  const { client } = env.temporal;
  videos = await createVideoClient({ client, taskQueue: 'own' });
  watched = await createVideoClient({ client, taskQueue: 'watched' });
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await env?.teardown();
  for (const one of receivers) await one.close();
});

async function receiver(statuses?: number[]): Promise<WebhookReceiver> {
  const one = await startWebhookReceiver(statuses);
  receivers.push(one);
  return one;
}

const deliveryOf = (workflowId: string) => env.temporal.client.workflow.getHandle(workflowId);

/** The id of the workflow that delivers the last webhook of a job. */
async function lastDelivery({ workflowId }: { workflowId: string }): Promise<string> {
  const { events } = await deliveryOf(workflowId).fetchHistory();
  const started = events?.flatMap((event) => event.startChildWorkflowExecutionInitiatedEventAttributes ?? []);
  return started?.at(-1)?.workflowId ?? '';
}

/** A job that has ended, and the workflow that delivers its last webhook. */
async function ended(client: VideoClient, workflowId: string, input: JobInput) {
  const job = await client.start({ polling, ...input }, { workflowId });
  const end = await job.result().catch((error: unknown) => error);
  return { job, end, delivery: deliveryOf(await lastDelivery(job)) };
}

test('a receiver that fails five times gets the event once, under one webhook-id and with a valid signature', async () => {
  const { url, received, accepted } = await receiver([500, 503, 429, 404, 302]);
  const { end, delivery } = await ended(videos, 'fox', { request, callbackUrl: url });
  expect(await delivery.result()).toEqual({ status: 204, attempt: 6 });
  expect(received.map(({ status }) => status)).toEqual([500, 503, 429, 404, 302, 204]);
  expect(new Set(received.map(({ id }) => id))).toEqual(new Set([delivery.workflowId]));
  const { taskId } = Object(end);
  expect(accepted('fox')).toEqual([
    expect.objectContaining({
      id: delivery.workflowId,
      type: 'video.completed',
      data: { id: 'fox', taskId },
    }),
  ]);
  // Thin: neither the prompt nor where the video is.
  expect(received[0]?.body).not.toMatch(/red fox|file:|prompt|uri/);
});

test('the default receiver of a worker hears of jobs that name none: stored, refused, cancelled', async () => {
  await (await ended(watched, 'stored', { request })).delivery.result();
  env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
  await (await ended(watched, 'refused', { request })).delivery.result();
  const job = await watched.start(
    { request, polling: { min: '1h', max: '1h' } },
    { workflowId: 'cancelled' },
  );
  const taskId = await job.taskId();
  await job.cancel();
  await failureOf(job.result());
  await deliveryOf(await lastDelivery(job)).result();
  const events = ['stored', 'refused', 'cancelled'].flatMap((name) => standard.accepted(name));
  expect(events).toMatchObject([
    { type: 'video.completed', data: { id: 'stored' } },
    { type: 'video.failed', data: { id: 'refused', failure: 'InvalidRequest' } },
    { type: 'video.failed', data: { id: 'cancelled', taskId, failure: 'Cancelled' } },
  ]);
});

test('a hold is sent when it begins, and a second hold under an id of its own', async () => {
  env.emulator.next('submit', { kind: 'reset' }, { kind: 'reset' });
  const job = await watched.start({ request }, { workflowId: 'held' });
  const held = async (count: number) => {
    while (standard.accepted('held').length < count) await pause();
    return untilProgress(job, ({ phase }) => phase === 'needs-decision');
  };
  await held(1);
  await job.decideSubmit({ decision: 'resubmit' });
  await held(2);
  await job.decideSubmit({ decision: 'abandon' });
  await failureOf(job.result());
  await deliveryOf(await lastDelivery(job)).result();
  const events = standard.accepted('held');
  expect(events.map(({ type }) => type)).toEqual([
    'video.needs_decision',
    'video.needs_decision',
    'video.failed',
  ]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(3);
});

test('a second job under the same name has webhooks of its own', async () => {
  for (const _ of [1, 2]) {
    env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
    await (await ended(watched, 'again', { request })).delivery.result();
  }
  expect(new Set(standard.accepted('again').map(({ id }) => id)).size).toBe(2);
});

test('a job without a receiver starts no workflow and says nothing about webhooks', async () => {
  const { job } = await ended(videos, 'quiet', { request });
  const { events } = await deliveryOf(job.workflowId).fetchHistory();
  expect(JSON.stringify(events)).not.toMatch(/webhook|hasReceiver|startChild/i);
});
