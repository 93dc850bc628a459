import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createVideoClient } from '../../src/client/video-client';
import { noiseVideo } from '../../src/emulator';
import { createVideoService, proposeProfile } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { bundlePath } from '../support/world';

const taskQueue = 'unforeseen';

let video: Buffer;
let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  video = await noiseVideo({ prompt: 'A red fox' }, 10_000);
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** A service with an unknown answer format. */
async function startStrangeService() {
  let polls = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/files/a.mp4') {
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(video);
      return;
    }
    const isDone = request.method === 'GET' && ++polls > 3;
    response.end(isDone ? finished : started);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started = JSON.stringify({ ticket: { no: 7, phase: 'P1' } });
  const finished = JSON.stringify({
    ticket: { no: 7, phase: 'P9' },
    deliverable: { href: `${url}/files/a.mp4` },
  });
  return { server, url, started, finished };
}

test('an unknown answer format works with the profile that is proposed from its answers', async () => {
  const strange = await startStrangeService();
  const { profile } = proposeProfile([{ status: 200, body: strange.finished }]);
  expect(profile).toEqual({
    read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
    states: { succeeded: ['P9'] },
  });

  const service = createVideoService({ baseUrl: strange.url, apiKey: () => 'sk-x', profile });
  const worker = await env.createWorker({
    taskQueue,
    service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
  const result = await worker.runUntil(() => videos.execute({ request: { prompt: 'A red fox' } }));
  expect(result).toMatchObject({ taskId: '7', polls: 4 });
  expect((await readFile(fileURLToPath(result.video.uri))).equals(video)).toBe(true);
  await service.close();
  strange.server.closeAllConnections();
  strange.server.close();
});
