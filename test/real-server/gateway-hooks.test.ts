import { registerSearchAttributes } from '../../src/client/search-attributes';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { workflowIdOf } from '../../src/gateway/task-names';
import type { VideoObject } from '../../src/gateway/video-object';
import { createVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { reset } from '../support/reset';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { keepRunning, pause, quickWorkflows } from '../support/world';

const HOOK_SECRET = 'b'.repeat(40);
const IMAGE = { prompt: 'A red fox', image_url: 'https://example.com/fox.png' };

let env: VideoTestEnvironment;
let gateway: VideoGateway;
let receiver: WebhookReceiver;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  captureLogs();
  // The first delivery fails, so the job has ended before the second.
  receiver = await startWebhookReceiver([500]);
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, videoBytes: 65_536 } });
  const { client } = env.temporal;
  await registerSearchAttributes({ connection: client.connection, namespace: client.options.namespace });
  const service = createVideoService({
    baseUrl: env.emulator.url,
    apiKey: () => env.emulator.apiKey,
    profile: {
      // Without a hint no job would poll during the test.
      polling: { min: '30m', max: '30m' },
      // The ids of tasks from images are marked, which the service's webhooks do not know.
      paths: { task: { textToVideo: '/v1/videos/{taskId}', imageToVideo: '/v1/videos/{taskId}' } },
    },
  });
  const worker = await env.createWorker({
    service,
    webhooks: { secret: () => WEBHOOK_SECRET, allow: ['127.0.0.1'] },
    worker: quickWorkflows(),
  });
  const stop = keepRunning(worker);
  stopWorker = () => stop().then(() => service.close());
  gateway = await createVideoGateway({
    env: {
      VIDEOGEN_STORAGE: env.storageFolder,
      VIDEOGEN_SEARCH_ATTRIBUTES: 'true',
      VIDEOGEN_GATEWAY_HOOK_SECRET: HOOK_SECRET,
    },
    client,
    port: 0,
    log: () => undefined,
  });
});
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await env?.teardown();
  await receiver?.close();
});

async function video(path: string, init?: RequestInit): Promise<VideoObject> {
  const answer = await fetch(`${gateway.url}/v1/videos${path}`, init);
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text());
}

async function hook(secret: string, body: object): Promise<number> {
  const init = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  return (await fetch(`${gateway.url}/v1/hooks/${secret}`, init)).status;
}

const post = (path: string, body: object) =>
  video(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, callback_url: receiver.url }),
  });

test('a webhook of the service has its job poll at once, and the caller of the gateway is called once, also after a reset', async () => {
  const { id } = await post('/image-to-video', IMAGE);
  let taskId: string | null | undefined;
  while (!taskId) {
    await pause();
    taskId = (await video(`/${id}`)).service_task_id;
  }
  const [, idAtService] = /^image-to-video:(.*)$/.exec(taskId) ?? [];
  expect(await hook('c'.repeat(40), { task_id: idAtService })).toBe(404);
  expect(await hook(HOOK_SECRET, { task_id: 'unknown' })).toBe(200);
  const isDone = async () => (await video(`/${id}`)).status === 'completed';
  // Until Temporal lists the new job, a hint finds nothing.
  while (!(await isDone())) {
    expect(await hook(HOOK_SECRET, { id: 'event-1', data: { id: idAtService } })).toBe(200);
    await pause();
  }
  while (receiver.accepted(id).length === 0) await pause();
  const [first] = receiver.accepted(id);
  expect(first).toMatchObject({ type: 'video.completed', data: { id, taskId } });

  const { client } = env.temporal;
  const workflowId = workflowIdOf('local', id);
  await reset(client, { workflowId });
  await client.workflow.getHandle(workflowId).result();
  // The webhook of the run after the reset is the same, and was delivered already.
  const delivery = client.workflow.getHandle(String(first?.id));
  expect(await delivery.result()).toEqual({ status: 204, attempt: 2 });
  expect(receiver.accepted(id)).toHaveLength(1);
});
