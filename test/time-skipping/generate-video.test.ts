import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { VideoTestEnvironment } from '../../src/testing';
import { captureLogs, createEnvironment, withBundle } from '../support/environment';

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createEnvironment({ emulator: { jobTimeMs: 40 * 60_000 } });
});
afterAll(() => env.teardown());

test('a text to video job ends with a file whose hash is the result’s', async () => {
  const worker = await env.createWorker(withBundle());
  const result = await worker.runUntil(() => env.videos.execute({ request: { prompt: 'A red fox' } }));
  const file = await readFile(fileURLToPath(result.video.uri));
  expect(createHash('sha256').update(file).digest('hex')).toBe(result.video.sha256);
  expect(file).toEqual(env.emulator.video(result.taskId));
  console.log(result);
});
