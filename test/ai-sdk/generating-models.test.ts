import { type AiSdkCallOptions, type AiSdkFetch, aiSdkService } from '../../src/ai-sdk';
import type { VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { callApi, sdkError } from '../activities/emulator-model';
import { type RawRequest, type RawServer, replyJson, startRawServer } from '../service/raw-server';
import { closeServices, FOX, faultOf, KEY, keepOpen } from './models';
import { temporaryFolder } from './temporary-folder';

const { folder } = temporaryFolder();

/** What the server answers to GET, by path. */
let answers: Record<string, unknown>;
let answerToPost: { status?: number; body: unknown };
let server: RawServer;
beforeAll(async () => {
  server = await startRawServer((request) => {
    const { status, body } = isPost(request) ? answerToPost : { status: 200, body: answers[pathOf(request)] };
    replyJson(request, body, { status });
  });
});
beforeEach(() => {
  server.requests.length = 0;
  answerToPost = { body: { id: 'cgt-1' } };
  answers = { '/tasks/cgt-1': { status: 'running' }, '/files/f-1': { url: 'https://a.example/v.mp4' } };
});
afterEach(closeServices);
afterAll(() => server.close());

const isPost = ({ line }: RawRequest) => line.startsWith('POST');
const pathOf = ({ line }: RawRequest) => line.split(' ')[1] ?? '';
const sent = () => server.requests.map(({ line }) => line.replace(/ HTTP.*/, ''));

/** A provider's model that only has doGenerate; it asks for the file of a finished task in a second call. */
function generatingModel(fetch: AiSdkFetch | undefined) {
  return {
    specificationVersion: 'v3',
    provider: 'bytedance.video',
    modelId: 'seedance',
    config: { fetch },
    async doGenerate({ prompt, headers, providerOptions, abortSignal: signal }: AiSdkCallOptions) {
      const { url } = server;
      const idempotencyKey = headers?.['Idempotency-Key'] ?? 'none';
      const body = JSON.stringify({ prompt });
      const { id } = await callApi(`${url}/tasks`, {
        method: 'POST',
        headers: { 'idempotency-key': idempotencyKey },
        body,
        signal,
        fetch,
      });
      if (!id) throw sdkError('No task ID returned from API');
      for (;;) {
        const task = await callApi(`${url}/tasks/${id}`, { signal, fetch });
        if (task.status === 'failed') throw sdkError(`Video generation failed: ${JSON.stringify(task)}`);
        if (task.status === 'succeeded') {
          const file = await callApi(`${url}/files/${task.file}`, { signal, fetch });
          const warnings = [{ type: 'unsupported', feature: 'fps' }];
          return { videos: [{ type: 'url', url: file.url, mediaType: 'video/mp4' }], warnings };
        }
        await new Promise((resolve) =>
          setTimeout(resolve, Number(providerOptions.bytedance?.pollIntervalMs)),
        );
      }
    },
  };
}

let keyOfLink: Record<string, string> = {};

/** The same, which reads the link of a finished task. */
function followingModel(fetch: AiSdkFetch) {
  return {
    ...generatingModel(fetch),
    async doGenerate({ abortSignal: signal }: AiSdkCallOptions) {
      const { url } = server;
      const { id } = await callApi(`${url}/tasks`, { method: 'POST', body: '{}', signal, fetch });
      const { link } = await callApi(`${url}/tasks/${id}`, { signal, fetch });
      return callApi(String(link), { headers: keyOfLink, signal, fetch });
    },
  };
}

const service = (): VideoService => keepOpen(aiSdkService(({ fetch }) => generatingModel(fetch)));

test('the first POST is the submit, its answer the task, and the model polls no further', async () => {
  expect(await service().submit(FOX, KEY)).toMatchObject({ taskId: '{"id":"cgt-1"}', doubts: [] });
  expect(sent()).toEqual(['POST /tasks']);
  expect(server.requests[0]?.headers).toMatchObject({ 'idempotency-key': 'key-of-the-job' });
});

test('a first answer with a signed link is kept in the storage', async () => {
  const storage = createFileStorage(folder());
  answerToPost = { body: { id: 'cgt-1', watch: 'https://a.example/?sig=c2lnbmF0dXJl' } };
  const stored = keepOpen(aiSdkService(({ fetch }) => generatingModel(fetch), { storage }));
  const { taskId } = await stored.submit(FOX, KEY);
  expect(taskId).toMatch(/^operation:[0-9a-f]{64}$/);
  expect((await stored.poll(taskId)).task.state).toBe('running');
});

test('a poll takes its key only to where the model would post', async () => {
  answers['/tasks/cgt-1'] = { status: 'succeeded', file: '..', link: 'https://169.254.169.254/' };
  const followed = keepOpen(aiSdkService(({ fetch }) => followingModel(fetch)));
  for (const [headers, message] of [
    [{ 'x-api-key': 'sk-0123456789abcdef' }, /would send its key to https:\/\/169.254.169.254/],
    [{}, /169.254.169.254, a link-local address/],
  ] as const) {
    keyOfLink = headers;
    expect(await faultOf(followed.poll('{"id":"cgt-1"}'))).toMatchObject({
      kind: 'not-allowed',
      message: expect.stringMatching(message),
    });
  }
});

test('a poll asks once and never posts', async () => {
  const { task } = await service().poll('{"id":"cgt-1"}');
  expect(task).toEqual({ state: 'running', word: 'running' });
  expect(sent()).toEqual(['GET /tasks/cgt-1']);
});

test('a poll follows the model to another address, and brings its warnings', async () => {
  answers['/tasks/cgt-1'] = { status: 'succeeded', file: 'f-1' };
  const { task, warnings } = await service().poll('{"id":"cgt-1"}');
  expect(task).toMatchObject({ state: 'succeeded', videoUrl: 'https://a.example/v.mp4' });
  expect(warnings).toEqual(['the model does not support fps']);
  expect(sent()).toEqual(['GET /tasks/cgt-1', 'GET /files/f-1']);
});

test('a task that failed has the words of its service, which the error of the model leaves out', async () => {
  const error = {
    code: 'OutputVideoSensitiveContentDetected',
    message: 'The output may contain sensitive content.',
  };
  answers['/tasks/cgt-1'] = { status: 'failed', error };
  const reading = await service().poll('{"id":"cgt-1"}');
  expect(reading).toMatchObject({
    task: { state: 'failed', word: 'failed' },
    serviceMessage: error,
    refusedContent: { stage: 'output' },
  });
});

test.each(['cancelled', 'expired'])(
  'a task that is %s has ended, although the model would poll on',
  async (status) => {
    answers['/tasks/cgt-1'] = { status };
    const { task } = await service().poll('{"id":"cgt-1"}');
    expect(task).toMatchObject({ state: status === 'expired' ? 'failed' : 'cancelled', word: status });
  },
);

test.each([
  ['a refusal', { status: 400, body: { error: { message: 'no foxes' } } }, { kind: 'answered', status: 400 }],
  ['a good answer without a task', { body: { odd: true } }, { kind: 'unreadable', status: 200 }],
  ['an answer that is a list', { body: ['cgt-1'] }, { kind: 'unreadable', status: 200 }],
])('%s to the POST is no task', async (_, answer, fault) => {
  answerToPost = answer;
  expect(await faultOf(service().submit(FOX, KEY))).toMatchObject(fault);
  expect(sent()).toEqual(['POST /tasks']);
});

test('a model that was not made with the given fetch is not run at all: each poll would pay again', async () => {
  const unwatched = keepOpen(aiSdkService(() => generatingModel(undefined)));
  for (const call of [unwatched.submit(FOX, KEY), unwatched.poll('{"id":"cgt-1"}')]) {
    expect(await faultOf(call)).toMatchObject({
      kind: 'not-sent',
      message: expect.stringContaining('must give its fetch'),
    });
  }
  expect(sent()).toEqual([]);
});
