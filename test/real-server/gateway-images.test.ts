import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { run } from '../../src/cli/run';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import type { VideoObject } from '../../src/gateway/video-object';
import { createVideoService, type OpenedVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { FakeTerminal } from '../cli/fake-terminal';
import { dataUrl, JPEG, PNG, pngOf, sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { filesIn, recordsIn } from '../support/stored-files';
import { keepRunning, quickWorkflows } from '../support/world';

const { key, line } = makeKey('shop');
/** More than a history may have. */
const LARGE_PNG = pngOf(5_000_000);

let env: VideoTestEnvironment;
let folder: string;
let gateway: VideoGateway;
const gatewayLog: string[] = [];
let service: OpenedVideoService;
let stopWorker: () => Promise<void>;
let logs: ReturnType<typeof captureLogs>;
beforeAll(async () => {
  logs = captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-gateway-images-'));
  writeFileSync(join(folder, 'keys.txt'), line);
  env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 65_536, fetchImages: true },
  });
  gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt') },
    client: env.temporal.client,
    port: 0,
    log: (logged) => gatewayLog.push(logged),
  });
  service = createVideoService({
    baseUrl: env.emulator.url,
    apiKey: () => env.emulator.apiKey,
    profile: { polling: { min: '1s', max: '1s' } },
  });
  const worker = await env.createWorker({
    service,
    env: { VIDEOGEN_GATEWAY_URL: `${gateway.url}/` },
    worker: quickWorkflows(),
  });
  stopWorker = keepRunning(worker);
});
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await service?.close();
  await env?.teardown();
  rmSync(folder, { recursive: true });
});

async function post(path: string, body: Buffer | object, headers: Record<string, string> = {}) {
  const isFile = Buffer.isBuffer(body);
  const answer = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': isFile ? 'image/png' : 'application/json',
      ...headers,
    },
    body: isFile ? body : JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text());
}

const made = (fields: object): Promise<VideoObject> =>
  post('/v1/videos/image-to-video', { prompt: 'A red fox', ...fields }, { prefer: 'wait=30' });

const taskOf = ({ service_task_id }: VideoObject) =>
  env.emulator.generations().find(({ taskId }) => taskId === service_task_id);

const images = async () =>
  (await filesIn(join(env.storageFolder, 'images'))).filter((name) => /\.\w+$/.test(name));

/** Everything that is recorded of a job outside the service. */
async function recordedOf({ id }: VideoObject): Promise<string> {
  const handle = env.temporal.client.workflow.getHandle(`gateway-shop-${id}`);
  const { memo, raw } = await handle.describe();
  const files = [...(await recordsIn(env.storageFolder)), ...(await filesIn(env.storageFolder))];
  const texts = files.filter((name) => name.endsWith('.json') && name.includes(id));
  return [
    JSON.stringify((await handle.fetchHistory()).events),
    payloadsIn((await handle.fetchHistory()).events),
    JSON.stringify([memo, raw]),
    ...texts.map((name) => readFileSync(join(env.storageFolder, name), 'utf8')),
    JSON.stringify([logs, gatewayLog]),
  ].join('\n');
}

/** The payloads of a history, decoded. */
function payloadsIn(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(payloadsIn).join('\n');
}

test('an uploaded image is fetched by the service and becomes a video, and nothing but its reference is recorded', async () => {
  const image = await post('/v1/images', LARGE_PNG);
  expect(await post('/v1/images', LARGE_PNG)).toEqual(image);
  const video = await made({ image_url: image.url });
  expect(video.status).toBe('completed');
  const task = taskOf(video);
  expect(task?.image).toEqual({
    bytes: LARGE_PNG.length,
    sha256: sha256Of(LARGE_PNG),
    contentType: 'image/png',
  });
  expect(await images()).toEqual([`shop/${image.sha256}.png`]);

  const recorded = await recordedOf(video);
  const link = new URL(task?.request.image_url ?? '');
  expect(recorded).toContain(image.url);
  expect(gatewayLog.join()).toContain('/v1/images/:owner/:name');
  expect(recorded).not.toContain(link.searchParams.get('signature'));
  expect(recorded).not.toContain(link.pathname);
  expect(recorded).not.toContain(LARGE_PNG.toString('base64').slice(0, 40));
});

test("OpenAI's client sends an image as a file and as a data: URL", async () => {
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const references = [await toFile(PNG, 'fox.png'), { image_url: dataUrl(PNG) }];
  const before = env.emulator.generations().length;
  const created = references.map((input_reference) =>
    client.videos.create({ prompt: 'A fox', input_reference }, { headers: { prefer: 'wait=30' } }),
  );
  for (const { status } of await Promise.all(created)) expect(status).toBe('completed');
  const fetched = env.emulator.generations().slice(before);
  expect(fetched.map(({ image }) => image?.sha256)).toEqual([sha256Of(PNG), sha256Of(PNG)]);
});

test('videogen generate --image stores the file, and its job has the same reference each time', async () => {
  const file = join(folder, 'fox.jpg');
  writeFileSync(file, JPEG);
  const terminal = new FakeTerminal({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_STORAGE: env.storageFolder,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
  });
  const before = env.emulator.generations().length;
  for (let time = 1; time <= 2; time++) {
    expect(await run(['generate', 'A fox', '--image', file, '--id', 'cli-fox'], terminal)).toBe(0);
  }
  const paid = env.emulator.generations().slice(before);
  expect(paid.map(({ image }) => image?.sha256)).toEqual([sha256Of(JPEG)]);
  expect(await images()).toContain(`_cli/${sha256Of(JPEG)}.jpg`);
});

test('a job whose image is gone fails with the reason, and nothing is paid', async () => {
  const before = env.emulator.generations().length;
  const image_url = `videogen-image:shop/${'0'.repeat(64)}.png`;
  const job = env.videos.execute({ request: { prompt: 'A fox', image_url } }, { workflowId: 'gone' });
  await expect(job).rejects.toThrow('names an image that is not in the storage');
  expect(env.emulator.generations()).toHaveLength(before);
});
