import { aiSdkService } from '../../src/ai-sdk';
import type { AiSdkFetch, AiSdkVideoModel, JsonValue } from '../../src/ai-sdk/video-model-types';
import { sdkError } from '../activities/emulator-model';
import { closed, replyJson, startRawServer } from '../service/raw-server';
import {
  answerWith,
  askedFor,
  FOX,
  faultOf,
  KEY,
  keepOpen,
  modelOf,
  modelServer,
  SECRET,
  type Sending,
  serviceOf,
  throwing,
  useModelServer,
} from './models';

useModelServer();

const posts = () => modelServer().requests.filter(({ line }) => line.startsWith('POST')).length;

test('a model is asked for one video, with the key of the job in the header of the profile', async () => {
  const { abortSignal, ...asked } = await askedFor({ ...FOX, duration: 5, seed: 7 });
  expect(asked).toEqual({
    prompt: 'A red fox',
    n: 1,
    duration: 5,
    seed: 7,
    providerOptions: {},
    headers: { 'Idempotency-Key': 'key-of-the-job' },
  });
  expect(abortSignal?.aborted).toBe(false);
  const other = await askedFor(FOX, { profile: { idempotencyHeader: 'X-Request-Id' } });
  expect(other.headers).toEqual({ 'X-Request-Id': 'key-of-the-job' });
  const none = await askedFor(FOX, { profile: { idempotencyHeader: null } });
  expect(none.headers).toBeUndefined();
});

// The sizes themselves are in test/client. To these providers sizes mean nothing, too little, or others.
test.each([
  ['test.video', { resolution: '720p', aspect_ratio: '9:16' }, '720x1280', {}],
  ['test.video', { resolution: '1080p' }, '1920x1080', {}],
  ['test.video', {}, undefined, {}],
  ['fal.video', { resolution: '720p', aspect_ratio: '9:16' }, undefined, { fal: { resolution: '720p' } }],
  ['xai.video', { resolution: '720p' }, undefined, { xai: { resolution: '720p' } }],
  ['google.generative-ai', { resolution: '720p' }, undefined, { google: { resolution: '720p' } }],
  ['alibaba.video', { resolution: '720p', aspect_ratio: '4:3' }, '1088x832', {}],
  ['alibaba.video', { resolution: '720p', aspect_ratio: '21:9' }, '1680x720', {}],
] as const)(
  'models of %s get %j as the size %s and the options %j',
  async (provider, fields, size, options) => {
    const { resolution, aspectRatio, providerOptions } = await askedFor({ ...FOX, ...fields }, { provider });
    const ratio = 'aspect_ratio' in fields ? fields.aspect_ratio : undefined;
    expect([resolution, aspectRatio, providerOptions]).toEqual([size, ratio, options]);
  },
);

test('further fields and constants become options of the provider', async () => {
  const request = { ...FOX, negative_prompt: 'blur', loras: [{ path: 'a', scale: 0.5 }] };
  const { providerOptions } = await askedFor(request, {
    provider: 'replicate.video',
    profile: { requestFields: ['negative_prompt', 'loras'] },
    providerOptions: { replicate: { go_fast: true }, other: { a: 1 } },
  });
  expect(providerOptions).toEqual({
    replicate: { go_fast: true, negative_prompt: 'blur', loras: [{ path: 'a', scale: 0.5 }] },
    other: { a: 1 },
  });
});

test('a link to an image stays a link, and a data URL becomes its bytes', async () => {
  const link = await askedFor({ ...FOX, image_url: 'https://example.com/fox.png' });
  expect(link.image).toEqual({ type: 'url', url: 'https://example.com/fox.png' });
  const data = await askedFor({ ...FOX, image_url: 'data:image/png;base64,iVBORw0K' });
  expect(data.image).toEqual({ type: 'file', mediaType: 'image/png', data: 'iVBORw0K' });
});

test('a model that takes bytes alone is asked for nothing while the image cannot be fetched', async () => {
  const host = await startRawServer((request) => replyJson(request, {}, { status: 503 }));
  const submits: unknown[] = [];
  const parts = { provider: 'google.generative-ai', start: (options: unknown) => submits.push(options) };
  const request = { ...FOX, image_url: `${host.url}/fox.png?signature=secret-of-the-link` };
  const later = await faultOf(serviceOf(parts, { downloadAllow: ['127.0.0.1'] }).start(request, KEY));
  expect(later).toMatchObject({
    kind: 'not-sent',
    message: expect.stringMatching(/^the image .* could not be fetched/),
  });
  const never = await faultOf(serviceOf(parts).start(request, KEY));
  expect(never).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('VIDEOGEN_DOWNLOAD_ALLOW'),
  });
  expect(JSON.stringify([later, never])).not.toContain('secret-of-the-link');
  expect(submits).toEqual([]);
  await host.close();
});

test.each<[string, unknown, object]>([
  ['a key that is missing', sdkError('no', 'AI_LoadAPIKeyError'), { kind: 'not-sent', message: 'no' }],
  ['an option that it does not know', sdkError('no', 'AI_InvalidArgumentError'), { kind: 'refused' }],
  ['something that it cannot do', sdkError('no', 'AI_UnsupportedFunctionalityError'), { kind: 'refused' }],
  ['anything else, before its first request', new TypeError('x is not a function'), { kind: 'not-sent' }],
])('a model that complains of %s has sent nothing', async (_, error, fault) => {
  expect(await faultOf(serviceOf({ start: throwing(error) }).start(FOX, KEY))).toMatchObject(fault);
});

test('an error of a model whose requests nobody could see is a lost submit, and its task a doubt', async () => {
  const unseen = (start: () => unknown) =>
    keepOpen(aiSdkService(({ fetch: _ }) => modelOf({ start }, globalThis.fetch)));
  expect((await faultOf(unseen(throwing(new Error('odd'))).start(FOX, KEY))).kind).toBe('cut');
  expect((await unseen(() => ({ operation: 'task-1' })).start(FOX, KEY)).doubts).toEqual([
    'the function of aiSdkService did not give its fetch to the provider',
  ]);
});

describe('what fails before the model is asked has sent nothing', () => {
  const start = throwing(new Error('the model was asked'));

  test('an image that cannot be decoded is refused, because it stays what it is', async () => {
    const request = { ...FOX, image_url: 'data:image/png,%89PNG' };
    expect(await faultOf(serviceOf({ start }).start(request, KEY))).toEqual({
      kind: 'refused',
      message: 'image_url is a data URL that is not base64',
    });
  });

  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /is not a video model of the AI SDK/],
    [
      'a model that only generates',
      { provider: 'fal.video', modelId: 'veo3', doGenerate: start },
      /has no doStart and doStatus, .*run `npm install @ai-sdk\/fal@latest`/,
    ],
    [
      'a model whose address nobody knows',
      { provider: 'new.video', modelId: 'm', doStart: start, doStatus: start },
      /does not say where its service is: name its address in the option origins/,
    ],
  ])('a function that makes %s is told so, with submits and polls', async (_, made, message) => {
    // A host without types may return anything.
    const service = keepOpen(aiSdkService(() => made as AiSdkVideoModel));
    const fault = { kind: 'not-sent', message: expect.stringMatching(message) };
    expect(await faultOf(service.start(FOX, KEY))).toEqual(fault);
    expect(await faultOf(service.status('task-1'))).toEqual(fault);
  });

  test('a model in place of the function is refused when the service is made', () => {
    const model: unknown = modelOf({}, globalThis.fetch);
    expect(() => aiSdkService(model as () => AiSdkVideoModel)).toThrow(
      /give a function that makes the model/,
    );
  });

  test('a function that makes no model in time, and what it sends later is not sent', async () => {
    const timeouts = { submit: 20, poll: 20 };
    const given: AiSdkFetch[] = [];
    const makeNone = ({ fetch }: { fetch: AiSdkFetch }) => {
      given.push(fetch);
      return new Promise<AiSdkVideoModel>(() => undefined);
    };
    const service = keepOpen(aiSdkService(makeNone, { timeouts }));
    const fault = {
      kind: 'not-sent',
      message: expect.stringContaining('could not be prepared within 20 ms'),
    };
    expect(await faultOf(service.start(FOX, KEY))).toEqual(fault);
    expect(await faultOf(service.status('task-1'))).toEqual(fault);
    for (const fetch of given) {
      expect(await faultOf(fetch(modelServer().url, { method: 'POST' }))).toMatchObject({ kind: 'not-sent' });
    }
    expect(modelServer().requests).toHaveLength(0);
  });
});

test('an error after the answer is a lost submit, whatever it says', async () => {
  answerWith((request) => replyJson(request, { id: 'task-1' }));
  const start = async (_: unknown, { post }: Sending) => {
    await post();
    throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
  };
  expect(await faultOf(serviceOf({ start }).start(FOX, KEY))).toMatchObject({
    kind: 'unreadable',
    status: 200,
  });
  expect(posts()).toBe(1);
});

test('a model that would send its request again is stopped', async () => {
  answerWith((request) => replyJson(request, { error: { message: 'busy' } }, { status: 500 }));
  const start = (_: unknown, { post }: Sending) => post().catch(() => post());
  expect(await faultOf(serviceOf({ start }).start(FOX, KEY))).toMatchObject({
    kind: 'answered',
    status: 500,
    message: 'busy',
  });
  expect(posts()).toBe(1);
});

test('a model may upload something before it starts', async () => {
  answerWith((request) => replyJson(request, { id: request.line.includes('upload') ? 'file-1' : 'task-1' }));
  const start = async (_: unknown, { post }: Sending) => {
    await post('/upload');
    return { operation: (await post()).id };
  };
  expect(await serviceOf({ start }).start(FOX, KEY)).toMatchObject({ taskId: 'task-1', doubts: [] });
});

test('a second request that fails does not hide that the first one may have made a task', async () => {
  answerWith((request) =>
    replyJson(request, { id: 'task-1' }, { status: request.line.includes('generate') ? 200 : 400 }),
  );
  const start = async (_: unknown, { post }: Sending) => {
    await post();
    return post('/confirm');
  };
  expect(await faultOf(serviceOf({ start }).start(FOX, KEY))).toMatchObject({ kind: 'unreadable' });
});

test.each([
  ['refuses by a code', { code: 401, message: 'no' }, { kind: 'answered', status: 401 }],
  [
    'refuses by an error',
    { error: { code: 'bad', message: 'no' } },
    { kind: 'refused', code: 'bad', message: 'no' },
  ],
  [
    'refuses the content',
    { error: { code: 'content_policy_violation', message: 'no' } },
    { kind: 'refused', refusedContent: { stage: 'prompt', field: 'prompt' } },
  ],
])('a good status with a body that %s is what the body says', async (_, body, fault) => {
  answerWith((request) => replyJson(request, body));
  const start = async (__: unknown, { post }: Sending) => {
    await post();
    throw sdkError('No task id returned');
  };
  expect(await faultOf(serviceOf({ start }).start(FOX, KEY))).toMatchObject(fault);
});

test('a refused key is hidden, and the advice names settings that a model has', async () => {
  answerWith((request) =>
    replyJson(request, { error: { message: `the key ${SECRET} is wrong` } }, { status: 401 }),
  );
  const service = serviceOf({});
  const { facts } = await service.start(FOX, KEY).then(Object, (error) => error);
  expect(facts).toMatchObject({ status: 401, message: 'the key … is wrong' });
  expect(facts.advice).toContain('Check the key that the package of the model gets');
  expect((await faultOf(service.status('task-1'))).message).toBe('the key … is wrong');
});

describe('a model whose request is not answered', () => {
  const impatient = (start: Parameters<typeof serviceOf>[0]['start']) =>
    serviceOf({ start }, { timeouts: { submit: 200, poll: 200 } });
  beforeEach(() => answerWith(() => undefined));

  test('and that gives up by itself is a lost submit of one POST', async () => {
    const { nextRequest } = modelServer();
    const giveUp = nextRequest().then(() => Promise.reject(new Error('enough')));
    const service = impatient((_, { post }) => Promise.race([post(), giveUp]));
    expect(await faultOf(service.start(FOX, KEY))).toEqual({ kind: 'cut', message: 'enough' });
    expect(posts()).toBe(1);
  });

  test('and that does not stop at the end of its time is a lost submit of one POST', async () => {
    const fault = await faultOf(impatient((_, { post }) => post()).start(FOX, KEY));
    expect(fault).toEqual({ kind: 'cut', message: expect.stringMatching(/^no complete answer within/) });
    expect(posts()).toBe(1);
  });

  test('ends its request with the signal in it', async () => {
    const ends: Promise<void>[] = [];
    answerWith(({ socket }) => ends.push(closed(socket)));
    const { url } = modelServer();
    const service = impatient(({ abortSignal: signal }, { fetch }) =>
      fetch(new Request(url, { method: 'POST', signal })),
    );
    expect(await faultOf(service.start(FOX, KEY))).toMatchObject({ kind: 'cut' });
    expect(await Promise.all(ends)).toHaveLength(1);
  });

  test('because it comes after the end of its time sends nothing: that submit counts as unsent', async () => {
    let resume: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let late: Promise<unknown> = Promise.resolve();
    const service = impatient((_, { post }) => {
      late = end.then(() => post()).catch((error: unknown) => error);
      return late;
    });
    expect(await faultOf(service.start(FOX, KEY))).toMatchObject({ kind: 'not-sent' });
    resume();
    expect(await late).toMatchObject({ message: expect.stringContaining('the call has ended') });
    expect(posts()).toBe(0);
  });
});

test('what the model does not support is a warning', async () => {
  const warnings = [
    { type: 'unsupported', feature: 'seed', details: 'It has no seed.' },
    { type: 'compatibility', feature: 'fps' },
    { type: 'deprecated', setting: 'loop', message: 'Use cycle.' },
    { type: 'other', message: 'Beware.' },
  ];
  const service = serviceOf({ start: () => ({ operation: 'task-1', warnings }) });
  expect((await service.start(FOX, KEY)).warnings).toEqual([
    'the model warns: unsupported seed: It has no seed',
    'the model warns: compatibility fps',
    'the model warns: deprecated loop: Use cycle',
    'the model warns: Beware',
  ]);
});

/** What a poll gets for an operation that a submit brought. */
async function roundTrip(operation: unknown): Promise<{ taskId: string; polled: unknown }> {
  let polled: unknown;
  const status = (asked: unknown) => {
    polled = asked;
    return { status: 'pending' };
  };
  const service = serviceOf({ start: () => ({ operation }), status });
  const { taskId } = await service.start(FOX, KEY);
  await service.status(taskId);
  return { taskId, polled };
}

test.each<[JsonValue, string]>([
  ['cgt-2026', 'cgt-2026'],
  [{ requestId: 'r-1' }, '{"requestId":"r-1"}'],
  [['a', 1], '["a",1]'],
  // Text that would be read as JSON.
  ['{"a":1}', '"{\\"a\\":1}"'],
  ['42', '42'],
  ['"quoted"', '"\\"quoted\\""'],
  [' a\n狐\u0000 ', '" a\\n狐\\u0000 "'],
])('the operation %j is the task %s', async (operation, taskId) => {
  expect(await roundTrip(operation)).toEqual({ taskId, polled: operation });
});

test.each<[string, unknown, RegExp]>([
  [
    'of more bytes than a task id may have',
    { token: 'x'.repeat(1_000) },
    /has 1012 bytes, too many for a task id/,
  ],
  ['that is missing', undefined, /no operation/],
  ['that is empty', '', /no operation/],
  ['with a key in it', { url: `https://a.example/?key=${SECRET}` }, /contains a key/],
])('an operation %s is an answer that cannot be read: a task may exist', async (_, operation, message) => {
  const service = keepOpen(
    aiSdkService(({ fetch, hide }) => {
      hide(SECRET);
      return modelOf({ start: () => ({ operation }) }, fetch);
    }),
  );
  expect(await faultOf(service.start(FOX, KEY))).toEqual({
    kind: 'unreadable',
    message: expect.stringMatching(message),
  });
});
