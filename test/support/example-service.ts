import { randomUUID } from 'node:crypto';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { createVideoService } from '../../src/service';
import type { Emulator, VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import type { ExampleRuns } from './example-process';
import { quickWorkflows } from './world';

export interface ExampleService {
  emulator: Emulator;
  videos: VideoClient;
  get(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body: unknown, key?: string): Promise<Response>;
  /** All server-sent events of a video. */
  events(id: string): Promise<{ event: string; data: Record<string, unknown> }[]>;
  close(): Promise<void>;
}

/** The Express example in a separate process, and a worker in this one that runs its jobs. */
export async function startExampleService(
  env: VideoTestEnvironment,
  runs: ExampleRuns,
): Promise<ExampleService> {
  const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024 });
  const service = createVideoService({
    baseUrl: emulator.url,
    apiKey: () => emulator.apiKey,
    profile: { polling: { min: '1s', max: '1s' } },
  });
  const taskQueue = `test-${randomUUID()}`;
  const worker = await env.createWorker({ taskQueue, service, worker: quickWorkflows() });
  const working = worker.run();
  const example = runs.start('express-service/main.js', [], {
    PORT: '0',
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
  });
  const url = await example.printed(/http:\S+/);
  const get: ExampleService['get'] = (path, init) => fetch(`${url}${path}`, init);

  return {
    emulator,
    videos: await createVideoClient({ client: env.temporal.client, taskQueue }),
    get,
    post: (path, body, key) =>
      get(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async events(id) {
      const answer = await get(`/videos/${id}/events`);
      const parts = (await answer.text()).matchAll(/^event: (.*)\ndata: (.*)$/gm);
      return [...parts].map(([, event = '', data = '']) => ({ event, data: JSON.parse(data) }));
    },
    async close() {
      example.kill('SIGTERM');
      const code = await example.ended;
      worker.shutdown();
      await working;
      await service.close();
      await emulator.close();
      if (code !== 0) throw new Error(`the example ended with ${code}: ${example.err()}`);
    },
  };
}
