import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run';
import { createVideoClient } from '../../src/client/video-client';
import { DEFAULT_TASK_QUEUE, lastFrameUrl, parseResults, type VideoRequest } from '../../src/contract';
import { paintLayers } from '../../src/emulator/video/layer';
import { scene } from '../../src/emulator/video/scene';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import type { VideoObject } from '../../src/gateway/video-object';
import { Picture } from '../../src/media';
import { createVideoService, type VideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { WorkerRole } from '../../src/worker/video-worker';
import { FakeTerminal } from '../cli/fake-terminal';
import { commandsOf, expectShown, readPage } from '../support/docs-page';
import { FFMPEG_TIMEOUT_MS, findFfmpeg } from '../support/ffmpeg';
import { activities, type HistoryEvent, historyOf } from '../support/history';
import { sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { type Pixels, readPng } from '../support/png';
import { filesIn } from '../support/stored-files';
import { failureOf, pause, quickWorkflows } from '../support/world';

const { key, line } = makeKey('shop');
const small = { resolution: '480p', duration: 1 } as const;
const request: VideoRequest = { prompt: 'A red fox', ...small };

let env: VideoTestEnvironment;
let folder: string;
let gateway: VideoGateway;
let service: VideoService;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-after-'));
  writeFileSync(join(folder, 'keys.txt'), line);
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0, fetchImages: true } });
  gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt') },
    client: env.temporal.client,
    port: 0,
    log: () => undefined,
  });
  service = createVideoService({
    baseUrl: env.emulator.url,
    apiKey: () => env.emulator.apiKey,
    profile: { polling: { min: '1s', max: '1s' } },
  });
  const worker = await env.createWorker({
    service,
    ffmpeg: await findFfmpeg(),
    env: { VIDEOGEN_GATEWAY_URL: `${gateway.url}/` },
    worker: quickWorkflows(),
  });
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
  };
}, FFMPEG_TIMEOUT_MS);
afterAll(async () => {
  await gateway?.close();
  await stopWorker?.();
  await service?.close();
  await env?.teardown();
  rmSync(folder, { recursive: true });
});

/** Wide enough for a line of any length. */
const SCREEN = { columns: 1_000, rows: 50 };

/** What a command prints: first to standard error, then to standard output. */
async function videogen(args: string[]): Promise<{ code: number; printed: string }> {
  const settings = {
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_STORAGE: env.storageFolder,
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
  };
  const terminal = new FakeTerminal(settings, undefined, undefined, SCREEN);
  const code = await run(args, terminal);
  return { code, printed: `${terminal.stderr}${terminal.stdout}` };
}

const paid = () => env.emulator.generations();
const imageOf = (taskId: string) => paid().find((task) => task.taskId === taskId)?.image?.sha256;
const pngAt = (uri = '') => readFileSync(fileURLToPath(uri));
const resultOf = (workflowId: string) => env.videos.handle(workflowId).result();

test('the commands of the page do what it shows', async () => {
  const shown = commandsOf(readPage('after-the-video.md'));
  expect(shown).toHaveLength(4);
  for (const one of shown) {
    const words = [...one.command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, a, b]) => a ?? b ?? '');
    const { code, printed } = await videogen(words.slice(1));
    expect([one.command, code]).toEqual([one.command, one.command.includes('fox-9') ? 2 : 0]);
    expectShown(one, printed);
  }
});

/** How far the pixels of a PNG are from a picture that the emulator drew, on average. */
function distance({ width, height, rgb }: Pixels, drawn: Picture): number {
  let sum = 0;
  let samples = 0;
  // Some pixels are enough, and away from the edges of macroblocks.
  for (let y = 4; y < height; y += 9) {
    for (let x = 4; x < width; x += 9) {
      const [luma, u, v] = samplesAt(drawn, x, y);
      const at = 3 * (y * width + x);
      sum += bt709(luma, u, v).reduce(
        (total, value, channel) => total + Math.abs(value - (rgb[at + channel] ?? 0)),
        0,
      );
      samples += 3;
    }
  }
  return sum / samples;
}

function samplesAt({ columns, data }: Picture, x: number, y: number): [number, number, number] {
  const start = 384 * (Math.floor(y / 16) * columns + Math.floor(x / 16));
  const chroma = start + 256 + 8 * Math.floor((y % 16) / 2) + Math.floor((x % 16) / 2);
  return [data[start + 16 * (y % 16) + (x % 16)] ?? 0, data[chroma] ?? 0, data[chroma + 64] ?? 0];
}

function bt709(y: number, u: number, v: number): number[] {
  const [luma, blue, red] = [(255 / 219) * (y - 16), (255 / 224) * (u - 128), (255 / 224) * (v - 128)];
  const channels = [luma + 1.5748 * red, luma - 0.1873 * blue - 0.4681 * red, luma + 1.8556 * blue];
  return channels.map((value) => Math.min(255, Math.max(0, value)));
}

test('the poster is the first and the last frame the last picture that the emulator drew', async () => {
  const { extras } = await resultOf('fox-1');
  const shot = { width: 854, height: 480, framesPerSecond: 10, frames: 10 };
  const layers = scene(request, shot);
  const picture = new Picture(shot.width, shot.height);
  const [poster, last] = [readPng(pngAt(extras?.poster?.uri)), readPng(pngAt(extras?.['last-frame']?.uri))];
  const distances = Array.from({ length: shot.frames }, (_, frame) => {
    paintLayers(picture, layers, frame);
    return [distance(poster, picture), distance(last, picture)];
  });
  const nearest = (of: 0 | 1) => {
    const all = distances.map((each) => each[of] ?? Infinity);
    return { frame: all.indexOf(Math.min(...all)), isExact: Math.min(...all) < 2 };
  };
  expect([nearest(0), nearest(1)]).toEqual([
    { frame: 0, isExact: true },
    { frame: 9, isExact: true },
  ]);
});

test('a job that continues from another one has the reference in its history and the frame at the service', async () => {
  const [first, second] = [await resultOf('fox-1'), await resultOf('fox-2')];
  expect(imageOf(second.taskId)).toBe(first.extras?.['last-frame']?.sha256);
  const history = await historyOf(env.temporal.client, 'fox-2');
  expect(
    activities(history)
      .map(({ type, summary }) => `${type} ${summary}`)
      .slice(0, 2),
  ).toEqual([
    'takeLastFrame the last frame of fox-1',
    'submitVideo image to video, 480p 1 s: "The fox looks up"',
  ]);
  const events = JSON.stringify(
    (await env.temporal.client.workflow.getHandle('fox-2').fetchHistory()).events,
  );
  expect(events.length).toBeLessThan(100_000);
  const [sidecar] = [JSON.parse(readFileSync(fileURLToPath(`${second.video.uri}.json`), 'utf8'))];
  expect(sidecar.request).toMatchObject({
    continueFrom: 'fox-1',
    image_url: `videogen-image:_frames/${imageOf(second.taskId)}.png`,
  });
});

test('a job without extras has no activity for them, and its last frame is made when it is continued from', async () => {
  const history = await historyOf(env.temporal.client, 'fox-2');
  expect(activities(history).map(({ type }) => type)).not.toContain('makeExtras');
  const { taskId } = await env.videos.execute(
    { request: { prompt: 'It sleeps', ...small }, continueFrom: 'fox-2' },
    { workflowId: 'fox-4' },
  );
  expect(imageOf(taskId)).toMatch(/^[0-9a-f]{64}$/);
  expect(imageOf(taskId)).not.toBe(imageOf((await resultOf('fox-2')).taskId));
  expect((await filesIn(env.storageFolder)).filter((name) => name.startsWith('fox-2'))).toEqual([
    'fox-2.mp4',
    'fox-2.mp4.json',
  ]);
});

test('nothing is paid when there is no frame to continue from', async () => {
  const before = paid().length;
  const start = (continueFrom: string, workflowId: string) =>
    env.videos.execute({ request, continueFrom }, { workflowId });
  env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
  await failureOf(env.videos.execute({ request }, { workflowId: 'refused' }));
  expect(String(await failureOf(start('refused', 'from-refused')))).toContain('it ended as FAILED');
  env.emulator.next('submit', { kind: 'reset' });
  const held = await env.videos.start({ request: { prompt: 'Held' }, holdFor: '1h' }, { workflowId: 'held' });
  expect(String(await failureOf(start('held', 'from-held')))).toContain('has not finished');
  await env.temporal.client.workflow.getHandle(held.workflowId).terminate('the test is over');
  const { video } = await env.videos.execute({ request }, { workflowId: 'gone' });
  rmSync(fileURLToPath(video.uri));
  expect(String(await failureOf(start('gone', 'from-gone')))).toContain('no longer in the storage');
  // Those that were made on purpose: the lost one and the one whose file is gone.
  expect(paid()).toHaveLength(before + 2);
});

test('a request that the service does not take is refused by the submit, which first looks for what was paid before', async () => {
  const { workflow } = env.temporal.client;
  const handle = await workflow.start('generateVideo', {
    workflowId: 'wrong-field',
    taskQueue: DEFAULT_TASK_QUEUE,
    args: [{ request: { ...request, camera: 'still' }, continueFrom: 'nobody' }],
  });
  const failure = await failureOf(env.videos.handle(handle.workflowId).result());
  expect(String(failure)).toContain('camera');
  expect(activities(await historyOf(env.temporal.client, 'wrong-field')).map(({ type }) => type)).toEqual([
    'takeLastFrame',
    'submitVideo',
  ]);
});

/** Runs a worker with these roles until a job has such an event. */
async function untilEvent(
  workflowId: string,
  roles: WorkerRole[],
  isSo: (event: HistoryEvent) => boolean,
): Promise<void> {
  const worker = await env.createWorker({ ...LATE_QUEUES, service, roles, worker: quickWorkflows() });
  await worker.runUntil(async () => {
    while (!(await historyOf(env.temporal.client, workflowId)).events?.some(isSo)) await pause();
  });
}
const LATE_QUEUES = { taskQueue: 'late', submitQueue: 'late-submits', downloadQueue: 'late-downloads' };

test('nothing is sent after the deadline, which a worker may find over only when the frame is there', async () => {
  await env.videos.execute({ request, extras: ['last-frame'] }, { workflowId: 'early' });
  const before = paid().length;
  const videos = await createVideoClient({ ...LATE_QUEUES, client: env.temporal.client, env: {} });
  const job = await videos.start(
    { request: { prompt: 'Too late', ...small }, continueFrom: 'early', deadline: '5s' },
    { workflowId: 'late' },
  );
  await untilEvent('late', ['jobs'], (event) => event.activityTaskScheduledEventAttributes != null);
  const endsAtMs = Date.now() + 5_000;
  await untilEvent('late', ['downloads'], (event) => event.activityTaskCompletedEventAttributes != null);
  while (Date.now() <= endsAtMs) await pause();
  const worker = await env.createWorker({
    ...LATE_QUEUES,
    service,
    env: { VIDEOGEN_GATEWAY_URL: `${gateway.url}/` },
    worker: quickWorkflows(),
  });
  const failure = await worker.runUntil(failureOf(job.result()));
  expect(failure).toMatchObject({ type: 'DeadlineExceeded' });
  expect(activities(await historyOf(env.temporal.client, 'late')).map(({ type }) => type)).toEqual([
    'takeLastFrame',
  ]);
  expect(paid()).toHaveLength(before);
});

test('the same name with another job to continue from is another job, and with the same it is joined', async () => {
  const continued = (continueFrom: string) =>
    env.videos.execute(
      { request: { prompt: 'The fox looks up', ...small }, continueFrom },
      { workflowId: 'fox-2' },
    );
  const before = paid().length;
  expect(await continued('fox-1')).toMatchObject({ taskId: (await resultOf('fox-2')).taskId });
  expect(String(await failureOf(continued('fox-4')))).toContain('differs in image_url');
  expect(paid()).toHaveLength(before);
});

test('items of a batch have extras, continue from other jobs, and can be continued from', async () => {
  const requests = [
    { prompt: 'One', ...small, image_url: lastFrameUrl('fox-1') },
    { prompt: 'Two', ...small, image_url: lastFrameUrl('fox-9') },
  ];
  const batch = await env.videos.startBatch({ requests, extras: ['last-frame'] }, { workflowId: 'foxes' });
  const { results } = await batch.result();
  const [one, two] = parseResults(readFileSync(fileURLToPath(results.uri), 'utf8'));
  expect(two).toMatchObject({ outcome: 'failed', failure: 'InvalidRequest' });
  if (one?.outcome !== 'succeeded') throw new Error(JSON.stringify(one));
  const frame = pngAt(one.extras?.['last-frame']?.uri);
  const next = await env.videos.execute(
    { request: { prompt: 'Three', ...small }, continueFrom: 'foxes-1' },
    { workflowId: 'after-foxes' },
  );
  expect(imageOf(next.taskId)).toBe(sha256Of(frame));
});

test('the gateway takes extras and continue_from, and serves the pictures to the key alone', async () => {
  const post = async (body: object): Promise<VideoObject> => {
    const answer = await fetch(`${gateway.url}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=30' },
      body: JSON.stringify({ prompt: 'A red fox', ...small, ...body }),
    });
    return JSON.parse(await answer.text());
  };
  const first = await post({ extras: ['last-frame'] });
  const { url = '', sha256 } = first.extras?.['last-frame'] ?? {};
  const picture = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  expect(sha256Of(Buffer.from(await picture.arrayBuffer()))).toBe(sha256);
  expect((await fetch(url)).status).toBe(401);
  const second = await post({ continue_from: first.id });
  expect(imageOf(second.service_task_id ?? '')).toBe(sha256);
});

test('forgetting a job removes its pictures and the frame that it began with, unless another job has it', async () => {
  const began = (taskId: string) => `images/_frames/${imageOf(taskId)}.png`;
  const own = began((await resultOf('fox-4')).taskId);
  expect((await videogen(['forget', 'fox-4', '--yes'])).printed).toContain(own);
  expect(await filesIn(env.storageFolder)).not.toContain(own);
  const { code, printed } = await videogen(['forget', 'fox-1', '--yes']);
  expect(code).toBe(0);
  expect(printed).toMatch(/extra +fox-1\.mp4\.poster\.png/);
  expect((await filesIn(env.storageFolder)).filter((name) => name.startsWith('fox-1'))).toEqual([]);
  expect(await filesIn(env.storageFolder)).toContain(began((await resultOf('fox-2')).taskId));
});
