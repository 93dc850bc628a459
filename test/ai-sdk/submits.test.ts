import { aiSdkService } from '../../src/ai-sdk';
import type { AiSdkFetch, AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import { sdkError } from '../activities/emulator-model';
import { closed, replyJson } from '../service/raw-server';
import {
  answerWith,
  FOX,
  faultOf,
  KEY,
  keepOpen,
  modelOf,
  modelServer,
  SECRET,
  type Sending,
  serviceOf,
  useModelServer,
} from './models';

useModelServer();

const posts = () => modelServer().requests.filter(({ line }) => line.startsWith('POST')).length;
const throwing = (error: unknown) => () => {
  throw error;
};

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
    ['a model without a name', { doStart: start, doStatus: start }, /is not a video model of the AI SDK/],
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

test('a service is named by its provider and model', async () => {
  const service = serviceOf({ provider: 'fal.video' });
  await service.status('task-1');
  expect(service.address).toBe('ai-sdk://fal.video/a/model');
});
