import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoActivities, type DownloadOptions } from '../../activities';
import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import type { AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import type { VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activities/activity-world';
import { callApi, sdkError } from '../activities/emulator-model';
import { type RawServer, reply, replyJson, startRawServer } from '../service/raw-server';
import { sha256Of } from '../support/images';
import {
  answerWith,
  FOX,
  faultOf,
  keepOpen,
  modelOf,
  modelServer,
  SECRET,
  serviceOf,
  throwing,
  useModelServer,
} from './models';

useModelServer();

const MIB = 1024 * 1024;
const poll = (status: () => unknown, options?: AiSdkServiceOptions) =>
  serviceOf({ status }, options).status('task-1');
const completed = (...videos: object[]) => ({ status: 'completed', videos, warnings: [] });

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}
const answer = ({ body, ...how }: Answer) => answerWith((request) => replyJson(request, body, how));

test('a pending task has the word and the Retry-After of the answer', async () => {
  answer({ body: { status: 'IN_QUEUE' }, headers: { 'retry-after': '7' } });
  const { task, retryAfterMs } = await poll(() => ({ status: 'pending' }));
  expect([task, retryAfterMs]).toEqual([{ state: 'queued', word: 'IN_QUEUE' }, 7_000]);
  answer({ body: {} });
  expect((await poll(() => ({ status: 'pending' }))).task).toEqual({ state: 'running', word: 'pending' });
});

test.each<[string, object, object]>([
  ['a link', { type: 'url', url: 'https://a.example/v.mp4' }, { videoUrl: 'https://a.example/v.mp4' }],
  ['nothing', { type: 'base64', data: '' }, {}],
])('a completed task has its video by %s', async (_, video, has) => {
  const { task } = await poll(() => completed({ mediaType: 'video/mp4', ...video }));
  expect(task).toEqual({ state: 'succeeded', word: 'completed', ...has });
  expect((await poll(() => completed())).task).toEqual({ state: 'succeeded', word: 'completed' });
});

test.each([{ type: 'uploaded' }, { type: 'url', url: 'gs://bucket/v.mp4' }])(
  'a video that is nowhere to download from, %j, is a failure that says so',
  async (video) => {
    const { task, serviceMessage = {} } = await poll(() => completed(video));
    const message = 'the model names neither an http link to the video nor its bytes';
    expect([task.state, serviceMessage.message]).toEqual(['failed', message]);
  },
);

test('the error of a model is the end of the task, with what its answer says', async () => {
  const error = 'Video generation failed: out of memory';
  expect(await poll(() => ({ status: 'error', error }))).toMatchObject({
    task: { state: 'failed', word: 'error' },
    serviceMessage: { message: error },
  });
  answer({ body: { status: 'canceled', error: { code: 'stopped', message: 'by the owner' } } });
  const reading = await poll(() => ({ status: 'error', error }));
  expect(reading).toMatchObject({
    task: { state: 'cancelled' },
    serviceMessage: { code: 'stopped', message: 'by the owner' },
  });
  expect(reading.refusedContent).toBeUndefined();
});

test('an error that speaks of the content policy is refused content, also in the words of a profile', async () => {
  const blocked = 'Video generation was blocked due to a content policy violation.';
  expect(await poll(() => ({ status: 'error', error: blocked }))).toMatchObject({ refusedContent: {} });
  const profile = { refusals: { content: [{ says: 'no foxes', stage: 'prompt' as const }] } };
  const reading = await poll(() => ({ status: 'error', error: 'We have no foxes here.' }), { profile });
  expect(reading.refusedContent).toMatchObject({ stage: 'prompt' });
});

describe('an answer that is about the poll does not fail the task, whatever the model calls it', () => {
  const WAYS: [string, () => unknown][] = [
    ['status error', () => ({ status: 'error', error: 'Video generation failed' })],
    ['an error', throwing(sdkError('Video generation failed'))],
  ];

  test.each(WAYS)('by %s', async (_, status) => {
    for (const code of [401, 404, 422, 500]) {
      answer({ status: code, body: { detail: 'no foxes' } });
      expect(await faultOf(poll(status))).toMatchObject({
        kind: 'answered',
        status: code,
        message: 'no foxes',
      });
    }
    answer({ status: 429, headers: { 'retry-after': '9' }, body: {} });
    expect(await faultOf(poll(status))).toMatchObject({ limited: true, retryAfterMs: 9_000 });
    answerWith(({ socket }) => socket.destroy());
    expect((await faultOf(poll(status))).kind).toBe('cut');
    answerWith((request) => reply(request, { body: '<html>' }));
    expect((await faultOf(poll(status))).kind).toBe('unreadable');
  });

  test.each<[string, Answer, AiSdkServiceOptions]>([
    [
      'by a header of fal about the model',
      { status: 500, headers: { 'X-Fal-Retryable': 'false' }, body: { detail: 'no' } },
      {},
    ],
    [
      'by a header of fal about the request',
      { status: 504, headers: { 'X-Fal-Error-Type': 'request_timeout' }, body: { detail: 'no' } },
      {},
    ],
    [
      'if it certainly refuses the content',
      { status: 400, body: { error: { code: 'content_policy_violation', message: 'no' } } },
      {},
    ],
    [
      'if the profile says so',
      { status: 422, body: { detail: 'no' } },
      { profile: { refusals: { failed: [422] } } },
    ],
  ])('but is the end of the task %s', async (_, given, options) => {
    answer(given);
    for (const [, status] of WAYS) expect((await poll(status, options)).task.state).toBe('failed');
  });

  test('nor does the error of a model that has asked nothing', async () => {
    const doStatus = async () => ({ status: 'error', error: 'no' });
    const service = keepOpen(aiSdkService(({ fetch }) => ({ ...modelOf({}, fetch), doStatus })));
    expect((await faultOf(service.status('task-1'))).kind).toBe('not-sent');
  });
});

describe('a poll whose model complains of a good answer', () => {
  test.each<[string, string]>([
    ['Video generation failed: {"id":"1","status":"failed"}', 'failed'],
    ['No video URL in response', 'succeeded'],
  ])('because it has read "%s" has found a task that %s', async (words, state) => {
    const { task } = await poll(throwing(sdkError(words)));
    expect(task).toMatchObject({ state });
    expect(task).not.toHaveProperty('videoUrl');
  });

  test.each<[string, unknown]>([
    ['nobody understands', sdkError('Something odd')],
    ['is a mistake in its code', new TypeError('x is not a function')],
  ])('by an error that %s leaves the task as it is', async (_, error) => {
    expect((await faultOf(poll(throwing(error)))).kind).toBe('unreadable');
  });

  test('as one that it cannot read leaves the task as it is', async () => {
    const status = () => ({ status: 'error', error: 'Invalid JSON response' });
    expect((await faultOf(poll(status))).kind).toBe('unreadable');
    expect((await faultOf(poll(() => ({ status: 'dreaming' })))).message).toBe(
      'the model answers with the status dreaming',
    );
  });
});

test('a poll that is cancelled ends with the cancellation', async () => {
  const cancellation = new AbortController();
  const status = () =>
    new Promise(() => {
      cancellation.abort(new Error('cancelled by the job'));
    });
  const polling = serviceOf({ status }).status('task-1', { signal: cancellation.signal });
  await expect(polling).rejects.toThrow('cancelled by the job');
});

test('an answer to a poll is given up if it has more than 32 MiB', async () => {
  answerWith((request) =>
    reply(request, { headers: { 'content-length': 100 * MIB }, body: Buffer.alloc(33 * MIB, ' ') }),
  );
  expect(await faultOf(serviceOf({}).status('task-1'))).toMatchObject({
    kind: 'unreadable',
    message: `the answer is larger than ${32 * MIB} bytes`,
  });
  expect(modelServer().requests).toHaveLength(1);
});

describe('where a poll goes:', () => {
  /** A server of somebody else. */
  let foreign: RawServer;
  beforeAll(async () => {
    foreign = await startRawServer((request) => replyJson(request, { status: 'IN_PROGRESS' }));
  });
  beforeEach(() => {
    foreign.requests.length = 0;
  });
  afterAll(() => foreign.close());

  const headers = { authorization: `Key ${SECRET}` };
  const keysIn = ({ requests }: RawServer) => requests.map(({ headers: sent }) => sent.authorization);
  const taskAt = (url: string) => JSON.stringify({ responseUrl: url });

  interface LinkedModel extends AiSdkServiceOptions {
    /** With its key; true by default. */
    followsWithKey?: boolean;
  }

  /** A model that asks at the address in its operation, as fal's do, and follows `next` of an answer. */
  function linkedService({ followsWithKey = true, ...options }: LinkedModel = {}): VideoService {
    return keepOpen(
      aiSdkService(({ fetch }): AiSdkVideoModel => {
        const ask = async (address: string, signal?: AbortSignal) => {
          const { next } = await callApi(address, { headers, signal, fetch });
          if (typeof next === 'string')
            await callApi(next, { ...(followsWithKey && { headers }), signal, fetch });
          return { status: 'pending' };
        };
        return {
          ...modelOf({ provider: 'linked.video' }, fetch),
          doStatus: ({ operation, abortSignal }) =>
            ask(String(Reflect.get(Object(operation), 'responseUrl')), abortSignal),
        };
      }, options),
    );
  }

  test('the key goes to the service itself, and to no other origin that a task id names', async () => {
    const { url } = modelServer();
    expect((await linkedService().status(taskAt(`${url}/1`))).task.state).toBe('running');
    expect(keysIn(modelServer())).toEqual([headers.authorization]);

    expect(await faultOf(linkedService().status(taskAt(foreign.url)))).toEqual({
      kind: 'not-allowed',
      message: `the model would send its key to ${foreign.url}, and this service is at ${url}: check the task id, or add the origin to the option origins of the service`,
    });
    expect(foreign.requests).toEqual([]);
  });

  test.each(['http://queue.fal.run/x', 'https://queue.fal.run:8443/x'])(
    'the key of https://queue.fal.run does not go to %s',
    async (address) => {
      const service = linkedService({ origins: ['https://queue.fal.run'] });
      expect((await faultOf(service.status(taskAt(address)))).kind).toBe('not-allowed');
    },
  );

  const polled = (next: string, model?: LinkedModel) => {
    answerWith((request) => replyJson(request, { next }));
    return linkedService(model).status(taskAt(modelServer().url));
  };

  test('an answer that leads elsewhere does not get the key there', async () => {
    expect((await faultOf(polled(`${foreign.url}/next`))).kind).toBe('not-allowed');
    expect(foreign.requests).toEqual([]);
  });

  test('an answer gets the key at another origin if the option origins names that', async () => {
    await polled(`${foreign.url}/next`, { origins: [foreign.url] });
    expect(keysIn(foreign)).toEqual([headers.authorization]);
    expect(() => serviceOf({}, { origins: ['queue.fal.run'] })).toThrow(
      'aiSdkService: origins has queue.fal.run, which is not an address such as https://api.example.com.',
    );
  });

  test.each(['http://127.0.0.1:1/', 'https://169.254.169.254/latest/meta-data'])(
    'an answer does not lead into the network of the worker, even without the key: %s',
    async (next) => {
      expect((await faultOf(polled(next, { followsWithKey: false }))).kind).toBe('not-allowed');
    },
  );

  test('an answer leads to a host that is allowed, without the key and without the key in its address', async () => {
    const allowed = { followsWithKey: false, downloadAllow: ['127.0.0.1'] };
    await polled(`${foreign.url}/next`, allowed);
    expect(keysIn(foreign)).toEqual([undefined]);
    expect((await faultOf(polled(`${foreign.url}/next?token=${SECRET}`, allowed))).kind).toBe('not-allowed');
  });
});

describe('the video of a finished task', () => {
  let world: ActivityWorld;
  let video: Buffer;
  beforeAll(async () => {
    world = await createActivityWorld();
    const { taskId } = await world.run(world.activities.submitVideo, { request: FOX }).result;
    video = await world.emulator.video(taskId);
  });
  afterAll(() => world.close());

  const bytes = () => ({ type: 'binary', data: new Uint8Array(video), mediaType: 'video/mp4' });
  const base64 = () => ({ type: 'base64', data: video.toString('base64'), mediaType: 'video/mp4' });

  const activitiesOf = (service: VideoService, options: DownloadOptions = {}) =>
    createVideoActivities({ service, storage: createFileStorage(world.folder), ...options });

  const download = (service: VideoService, options?: DownloadOptions) =>
    world.run(activitiesOf(service, options).downloadVideo, {
      taskId: 'task-1',
      storage: `${randomUUID()}.mp4`,
    });

  test.each([
    ['bytes', bytes],
    ['base64', base64],
  ])('as %s is stored, hashed and inspected like any other', async (_, made) => {
    const service = serviceOf({ status: () => completed(made()) });
    const status = await world.run(activitiesOf(service).pollVideo, { taskId: 'task-1' }).result;
    expect(status).toMatchObject({ state: 'succeeded', hasVideo: true });
    expect(JSON.stringify(status).length).toBeLessThan(500);
    const stored = (await download(service).result).video;
    expect(stored).toMatchObject({
      sha256: sha256Of(video),
      bytes: video.length,
      contentType: 'video/mp4',
      durationSeconds: 5,
    });
    const { failure } = await failureOf(download(service, { largestVideoBytes: 1_000 }));
    expect(failure.type).toBe('VideoTooLarge');
  });

  test('is not fetched from an address that is not public, and the key in its link is in no failure', async () => {
    const host = await startRawServer((request) =>
      replyJson(request, { error: request.line }, { status: 400 }),
    );
    const status = () => completed({ type: 'url', url: `${host.url}/v.mp4?key=AIza-0123456789-secret` });
    const refused = await failureOf(download(serviceOf({ status })));
    expect([refused.failure.type, refused.failure.nonRetryable]).toEqual(['VideoUnavailable', true]);
    expect(host.requests).toHaveLength(0);
    const quoted = await failureOf(download(serviceOf({ status }, { downloadAllow: ['127.0.0.1'] })));
    expect(quoted.details).toMatchObject({ status: 400, message: 'GET /v.mp4?… HTTP/1.1' });
    expect(world.everythingReported()).not.toContain('0123456789-secret');
    await host.close();
  });

  test('is told with what the model does not support, also next to the file and to a later job', async () => {
    const unsupported = (feature: string) => ({ type: 'unsupported', feature });
    const status = () => ({ ...completed(bytes()), warnings: [unsupported('fps')] });
    const start = () => ({ operation: 'task-1', warnings: [unsupported('seed'), unsupported('fps')] });
    const { submitVideo, downloadVideo } = activitiesOf(serviceOf({ start, status }));
    const job = randomUUID();
    const ofJob = { workflowExecution: { workflowId: job, runId: 'run' } };
    const submitted = await world.run(submitVideo, { request: FOX }, ofJob).result;
    expect(submitted).toEqual({
      taskId: 'task-1',
      record: expect.stringMatching(/^[0-9a-f]{16}$/),
      kind: expect.any(String),
      nextPollMs: expect.any(Number),
    });
    const input = { taskId: 'task-1', record: submitted.record, storage: `${job}.mp4` };
    const { warnings } = await world.run(downloadVideo, input, ofJob).result;
    expect(warnings).toEqual(['the model warns: unsupported seed', 'the model warns: unsupported fps']);
    const sidecar = JSON.parse(await readFile(join(world.folder, `${job}.mp4.json`), 'utf8'));
    expect(sidecar.warnings).toEqual(warnings);
    expect((await world.run(downloadVideo, input, ofJob).result).warnings).toEqual(warnings);
  });
});
