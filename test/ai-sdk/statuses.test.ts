import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import { sdkError } from '../activities/emulator-model';
import { reply, replyJson } from '../service/raw-server';
import { answerWith, faultOf, keepOpen, modelOf, modelServer, serviceOf, useModelServer } from './models';

useModelServer();

const MIB = 1024 * 1024;
const BYTES = Buffer.from('a video');
const poll = (status: () => unknown, options?: AiSdkServiceOptions) =>
  serviceOf({ status }, options).status('task-1');
const completed = (...videos: object[]) => ({ status: 'completed', videos, warnings: [] });
const throwing = (error: unknown) => () => {
  throw error;
};

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
  ['base64', { type: 'base64', data: BYTES.toString('base64') }, { videoBytes: BYTES }],
  ['bytes', { type: 'binary', data: new Uint8Array(BYTES) }, { videoBytes: new Uint8Array(BYTES) }],
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
      'by a header of fal',
      { status: 504, headers: { 'X-Fal-Retryable': 'false' }, body: { detail: 'no' } },
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
