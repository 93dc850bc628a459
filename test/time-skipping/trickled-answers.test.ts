import { randomUUID } from 'node:crypto';
import { createVideoClient } from '../../src/client/video-client';
import { isVideoFailure } from '../../src/contract';
import { createVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { type RawRequest, replyJson, startRawServer } from '../service/raw-server';
import { captureLogs } from '../support/logs';
import { bundlePath, failureOf } from '../support/world';

/** As many as a worker submits at once. */
const SLOTS = 8;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

function trickle({ socket }: RawRequest): void {
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{"task_id":"t"');
  const timer = setInterval(() => socket.write(' '), 20);
  socket.once('close', () => clearInterval(timer));
}

test('submits whose answers trickle are lost, free their slots for later jobs, and let the worker drain', async () => {
  let posts = 0;
  const server = await startRawServer((request) => {
    if (!request.line.startsWith('POST')) trickle(request);
    else if (++posts <= SLOTS) trickle(request);
    else replyJson(request, { error: { code: 'bad_prompt', message: 'No foxes.' }, request_id: 'r' });
  });
  const timeouts = { exchange: { submit: 500, poll: 500, video: 500 } };
  const service = createVideoService({ baseUrl: server.url, apiKey: () => 'key-0123456789', timeouts });
  const taskQueue = `trickle-${randomUUID()}`;
  const submitQueue = `${taskQueue}-submit`;
  const worker = await env.createWorker({
    taskQueue,
    submitQueue,
    service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  const running = worker.run();
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue, submitQueue });
  const start = (number: number) =>
    videos.start({ request: { prompt: `Fox ${number}` }, onLostSubmit: 'fail' });

  const trickled = await Promise.all(Array.from({ length: SLOTS }, (_, number) => start(number)));
  while (posts < SLOTS) await server.nextRequest();
  const later = await start(SLOTS);
  const refused = await failureOf(later.result());
  expect(isVideoFailure(refused, 'InvalidRequest')).toBe(true);
  expect(String(refused)).toContain('No foxes.');
  for (const job of trickled) {
    expect(isVideoFailure(await failureOf(job.result()), 'SubmitUnconfirmed')).toBe(true);
  }
  expect(posts).toBe(SLOTS + 1);

  // Two more in flight while the worker drains: it does not wait for them forever.
  posts = 0;
  await Promise.all([start(SLOTS + 1), start(SLOTS + 2)]);
  while (posts < 2) await server.nextRequest();
  worker.shutdown();
  await running;
  await service.close();
  await server.close();
});
