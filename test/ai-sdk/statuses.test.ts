import { type AiSdkFetch, type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import { readingRules } from '../../src/service';
import type { TaskReading } from '../../src/service/http-video-service';
import { ApiCallError, callApi, sdkError } from '../activities/emulator-model';
import { replyJson, startRawServer } from '../service/raw-server';
import { closeServices, faultOf, keepOpen, modelOf, serviceOf } from './models';

afterEach(closeServices);

const BYTES = Buffer.from('a video');
const poll = (status: () => unknown, options = {}) => serviceOf({ status }, options).poll('task-1');
const completed = (...videos: object[]) => ({ status: 'completed', videos, warnings: [] });

test('a pending task is running, and its Retry-After is kept', async () => {
  const reading = await poll(() => ({ status: 'pending', response: { headers: { 'Retry-After': '7' } } }));
  expect(reading.task).toEqual({ state: 'running', word: 'pending' });
  expect(reading.retryAfterMs).toBe(7_000);
});

test.each<[string, object, object]>([
  ['a link', { type: 'url', url: 'https://a.example/v.mp4' }, { videoUrl: 'https://a.example/v.mp4' }],
  ['base64', { type: 'base64', data: BYTES.toString('base64') }, { videoBytes: BYTES }],
  ['bytes', { type: 'binary', data: new Uint8Array(BYTES) }, { videoBytes: new Uint8Array(BYTES) }],
  [
    'a data URL',
    { type: 'url', url: `data:video/mp4;base64,${BYTES.toString('base64')}` },
    { videoBytes: BYTES },
  ],
  [
    'a data URL with base64 that is escaped',
    { type: 'url', url: `data:video/mp4;base64,${encodeURIComponent(BYTES.toString('base64'))}` },
    { videoBytes: BYTES },
  ],
  ['a data URL without base64', { type: 'url', url: 'data:video/mp4,a%20video' }, { videoBytes: BYTES }],
  ['nothing', { type: 'base64', data: '' }, {}],
])('a completed task has its video by %s', async (_, video, has) => {
  const { task } = await poll(() => completed({ mediaType: 'video/mp4', ...video }));
  expect(task).toEqual({ state: 'succeeded', word: 'completed', ...has });
});

test('of several videos the first is kept, and the result says so', async () => {
  const link = (name: string) => ({ type: 'url', url: `https://a.example/${name}` });
  const { task, warnings } = await poll(() => completed(link('1'), link('2')));
  expect(task).toMatchObject({ videoUrl: 'https://a.example/1' });
  expect(warnings).toEqual(['the model made 2 videos, of which the first is kept']);
});

test('a task without videos succeeded without one: the job asks again', async () => {
  expect((await poll(() => completed())).task).toEqual({ state: 'succeeded', word: 'completed' });
});

test.each([
  [{ type: 'uploaded' }, /uploaded the video elsewhere/],
  [{ type: 'url', url: 'gs://bucket/v.mp4' }, /begins with gs:/],
  [
    { type: 'url', url: '/v.mp4?token=sk-live' },
    /^the link to the video has no address, so nothing can be downloaded$/,
  ],
])('a video that is nowhere to download from, %j, is a failure that says so', async (video, message) => {
  const { task, serviceMessage } = await poll(() => completed(video));
  expect([task.state, serviceMessage.message]).toEqual(['failed', expect.stringMatching(message)]);
});

test.each<[string, object]>([
  ['Video generation failed: out of memory', { state: 'failed' }],
  ['Video generation was canceled', { state: 'cancelled' }],
])('the error %j is the end of the task, in its own words', async (error, task) => {
  const reading = await poll(() => ({ status: 'error', error }));
  expect(reading).toMatchObject({ task, serviceMessage: { message: error } });
  expect(reading.refusedContent).toBeUndefined();
});

test('an error that speaks of the content policy is refused content', async () => {
  const error = 'Video generation was blocked due to a content policy violation.';
  const reading = await poll(() => ({ status: 'error', error }));
  expect(reading).toMatchObject({ task: { state: 'failed' }, refusedContent: {} });
});

test('a profile says which other words mean refused content', async () => {
  const profile = { refusals: { content: [{ says: 'no foxes', stage: 'prompt' as const }] } };
  const reading = await poll(() => ({ status: 'error', error: 'We have no foxes here.' }), { profile });
  expect(reading.refusedContent).toMatchObject({ stage: 'prompt' });
  expect(readingRules(profile).content).toHaveLength(1);
});

describe('an error that is about the poll and not about the task', () => {
  test.each([
    ['Too Many Requests', { kind: 'answered', status: 429, limited: true }],
    ['Internal Server Error', { kind: 'answered', status: 500 }],
    ['Not Found', { kind: 'answered', status: 404 }],
    ['Cannot connect to API: other side closed', { kind: 'cut' }],
  ])('does not fail the task, although the model says status error: %s', async (error, fault) => {
    expect(await faultOf(poll(() => ({ status: 'error', error })))).toMatchObject(fault);
  });
});

describe('an answer with 400, 422 or 451 that a model calls a failed task', () => {
  interface Answer {
    status: number;
    headers?: Record<string, string>;
    body: unknown;
  }
  const REFUSED_FIELD = { loc: ['body', 'duration'], msg: 'Input should be 4s', type: 'literal_error' };

  async function pollAnswered(
    { status, headers, body }: Answer,
    {
      byItself = false,
      method = 'GET',
      ...options
    }: AiSdkServiceOptions & { byItself?: boolean; method?: string } = {},
  ): Promise<TaskReading> {
    const server = await startRawServer((request) => replyJson(request, body, { status, headers }));
    const modelWith = (fetch?: AiSdkFetch) => ({
      ...modelOf({
        status: () =>
          callApi(server.url, { method, fetch }).catch((error: Error) => ({
            status: 'error',
            error: error.message,
          })),
      }),
      ...{ config: { fetch } },
    });
    const service = keepOpen(aiSdkService(byItself ? modelWith() : ({ fetch }) => modelWith(fetch), options));
    try {
      return await service.poll('task-1');
    } finally {
      await closeServices();
      await server.close();
    }
  }

  test.each([400, 422, 451])(
    'is about the poll if %d says nothing more, as without a model',
    async (status) => {
      const answer = { status, body: { detail: 'Unprocessable Entity' } };
      const fault = { kind: 'answered', status };
      expect(await faultOf(pollAnswered(answer))).toMatchObject(fault);
      expect(await faultOf(pollAnswered(answer, { byItself: true }))).toMatchObject(fault);
    },
  );

  test.each([false, true])(
    'is the end of the task by a header of fal; a model by itself: %s',
    async (byItself) => {
      const answer = { status: 422, headers: { 'X-Fal-Retryable': 'false' }, body: { detail: 'no foxes' } };
      expect((await pollAnswered(answer, { byItself })).task.state).toBe('failed');
    },
  );

  test('is the end of the task if it complains of the body of a request, which only the submit has', async () => {
    const answer = { status: 422, body: { detail: [REFUSED_FIELD] } };
    expect((await pollAnswered(answer)).task.state).toBe('failed');
    expect(await faultOf(pollAnswered(answer, { method: 'POST' }))).toMatchObject({ kind: 'answered' });
  });

  test('is the end of the task if it certainly refuses the content', async () => {
    const answer = { status: 400, body: { error: { code: 'content_policy_violation', message: 'no' } } };
    expect(await pollAnswered(answer)).toMatchObject({ task: { state: 'failed' }, refusedContent: {} });
  });

  test('is the end of the task if the profile says so', async () => {
    const answer = { status: 422, body: { detail: 'no' } };
    const profile = { refusals: { failed: [422] } };
    expect((await pollAnswered(answer, { profile })).task.state).toBe('failed');
  });
});

describe('a poll whose model throws', () => {
  const throwing = (error: unknown, options = {}) =>
    poll(() => {
      throw error;
    }, options);

  test.each<[number, object]>([
    [401, { kind: 'answered', status: 401 }],
    [404, { kind: 'answered', status: 404 }],
    [500, { kind: 'answered', status: 500 }],
    [429, { kind: 'answered', status: 429, limited: true, retryAfterMs: 9_000 }],
  ])('after HTTP %d has that answer', async (statusCode, fault) => {
    const error = new ApiCallError('no', {
      statusCode,
      responseHeaders: { 'retry-after': '9' },
      responseBody: '{"error":{"message":"no foxes"}}',
    });
    expect(await faultOf(throwing(error))).toMatchObject({ ...fault, message: 'no foxes' });
  });

  test('after an answer that clearly refuses the content has found a failed task', async () => {
    const error = new ApiCallError('no', {
      statusCode: 422,
      responseBody: '{"detail":[{"loc":["body","prompt"],"msg":"no","type":"content_policy_violation"}]}',
    });
    expect((await throwing(error)).task.state).toBe('failed');
  });

  test('after a status that means a failed task by the profile has found one', async () => {
    const error = new ApiCallError('no', { statusCode: 400, responseBody: '{"error":{"message":"broken"}}' });
    const profile = { refusals: { failed: [400] } };
    expect((await throwing(error, { profile })).task.state).toBe('failed');
  });

  test.each<[string, unknown, string]>([
    ['that its task failed', sdkError('Video generation failed: {"id":"1","status":"failed"}'), 'failed'],
    ['that it was cancelled', sdkError('The task was cancelled'), 'cancelled'],
    ['that there is no video', sdkError('No video URL in response'), 'succeeded'],
  ])('because it has read %s has found that', async (_, error, state) => {
    const { task } = await throwing(error);
    expect(task).toMatchObject({ state });
    expect(task).not.toHaveProperty('videoUrl');
  });

  test.each<[string, unknown, string]>([
    ['nobody understands', sdkError('Something odd'), 'unreadable'],
    ['is a mistake in its code', new TypeError('x is not a function'), 'cut'],
    ['says that nobody listens', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), 'not-sent'],
  ])('an error that %s leaves the task as it is', async (_, error, kind) => {
    expect(await faultOf(throwing(error))).toMatchObject({ kind });
  });

  test('because the job is cancelled ends with the cancellation', async () => {
    const cancellation = new AbortController();
    const status = (_: unknown, signal?: AbortSignal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
        cancellation.abort(new Error('cancelled by the job'));
      });
    const polling = serviceOf({ status }).poll('task-1', { signal: cancellation.signal });
    await expect(polling).rejects.toThrow('cancelled by the job');
  });
});

test('a status that the AI SDK does not have cannot be read', async () => {
  expect(await faultOf(poll(() => ({ status: 'dreaming' })))).toMatchObject({
    kind: 'unreadable',
    message: 'the model answers with the status dreaming',
  });
});
