import { type AiSdkCallOptions, type AiSdkFetch, type AiSdkVideoModel, aiSdkService } from '../../src/ai-sdk';
import { ApiCallError, callApi, sdkError } from '../activities/emulator-model';
import {
  closed,
  type RawRequest,
  type RawServer,
  reply,
  replyJson,
  startRawServer,
} from '../service/raw-server';
import { closeServices, FOX, faultOf, KEY, keepOpen, modelOf, serviceOf } from './models';

afterEach(closeServices);

const SECRET = 'sk-live-0123456789abcdef';

/** A server, and a service by a function whose model posts to it; `start` may do more than post once. */
async function atServer(
  answer: (request: RawRequest) => void,
  work: (server: RawServer) => Promise<void>,
): Promise<void> {
  const server = await startRawServer(answer);
  try {
    await work(server);
  } finally {
    await closeServices();
    await server.close();
  }
}

type Post = (path?: string) => Promise<Record<string, unknown>>;

function postingService(
  { url }: RawServer,
  start: (post: Post, options: AiSdkCallOptions) => Promise<unknown> = async (post) => ({
    operation: (await post()).id,
  }),
) {
  const model = (fetch: AiSdkFetch): AiSdkVideoModel => ({
    ...modelOf({}),
    ...{ config: { fetch } },
    doStart: async (options) => {
      const post: Post = (path = '/generate') =>
        callApi(url + path, {
          method: 'POST',
          headers: { authorization: `Key ${SECRET}`, 'content-type': 'application/json' },
          body: JSON.stringify({ prompt: options.prompt, token: SECRET }),
          signal: options.abortSignal,
          fetch,
        });
      return start(post, options);
    },
  });
  return keepOpen(aiSdkService(({ fetch }) => model(fetch)));
}

test.each<[string, string, string]>([
  ['a key that is missing', 'AI_LoadAPIKeyError', 'not-sent'],
  ['a setting that is missing', 'AI_LoadSettingError', 'not-sent'],
  ['an option that it does not know', 'AI_InvalidArgumentError', 'refused'],
  ['something that it cannot do', 'AI_UnsupportedFunctionalityError', 'refused'],
])('a model that complains of %s has sent nothing', async (_, name, kind) => {
  const start = () => {
    throw sdkError('no', name);
  };
  expect(await faultOf(serviceOf({ start }).submit(FOX, KEY))).toEqual({ kind, message: 'no' });
});

test.each<[string, unknown, string]>([
  ['says nothing that is known', new Error('odd'), 'cut'],
  [
    'says that it could not connect',
    Object.assign(new Error('x'), { cause: { code: 'ECONNREFUSED' } }),
    'not-sent',
  ],
  [
    'has an answer with a task that it could not read',
    new ApiCallError('odd', { statusCode: 200 }),
    'unreadable',
  ],
  ['was refused', new ApiCallError('odd', { statusCode: 400 }), 'answered'],
])('an error of a model whose requests nobody saw and that %s is %s', async (_, error, kind) => {
  const start = () => {
    throw error;
  };
  expect(await faultOf(serviceOf({ start }).submit(FOX, KEY))).toMatchObject({ kind });
});

test.each<[string, () => unknown]>([
  ['has no words', () => Object.create(null)],
  [
    'throws when it is read',
    () => ({
      get message() {
        throw new Error(`no ${SECRET}`);
      },
    }),
  ],
  [
    'is a revoked proxy',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ],
])('an error that %s is a lost submit, and a poll that leaves the task as it is', async (_, make) => {
  const fail = () => {
    throw make();
  };
  const service = serviceOf({ start: fail, status: fail });
  const fault = { kind: 'cut', message: 'the model threw something that cannot be read' };
  expect(await faultOf(service.submit(FOX, KEY))).toEqual(fault);
  expect(await faultOf(service.poll('task-1'))).toEqual(fault);
});

test('an error before the first request has sent nothing, if the model has our fetch', async () => {
  await atServer(
    () => undefined,
    async (server) => {
      const service = postingService(server, async () => {
        throw new TypeError('x is not a function');
      });
      expect(await faultOf(service.submit(FOX, KEY))).toEqual({
        kind: 'not-sent',
        message: 'x is not a function',
      });
    },
  );
});

describe('what fails before the model is asked has sent nothing', () => {
  const asked = () => {
    throw new Error('the model was asked');
  };

  test('an image that cannot be decoded is refused, because it stays what it is', async () => {
    const request = { ...FOX, image_url: 'data:image/png,%' };
    expect(await faultOf(serviceOf({ start: asked }).submit(request, KEY))).toEqual({
      kind: 'refused',
      message: 'image_url is a data URL with a % that two hexadecimal digits do not follow',
    });
  });

  test('a hook of the host that fails is named, and its keys are hidden', async () => {
    const size = () => {
      throw new Error(`no size for ${SECRET}`);
    };
    const service = serviceOf({ start: asked }, { size, secrets: () => [SECRET] });
    expect(await faultOf(service.submit(FOX, KEY))).toEqual({
      kind: 'not-sent',
      message: expect.stringMatching(/: the option size of aiSdkService failed: no size for …$/),
    });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a model without a name', { doStart: asked, doStatus: asked }],
  ])('a function that makes %s is told so, with submits and polls', async (_, made) => {
    // A host without types may return anything.
    const service = keepOpen(aiSdkService(() => made as AiSdkVideoModel));
    const fault = { kind: 'not-sent', message: expect.stringContaining('is no video model of the AI SDK') };
    expect(await faultOf(service.submit(FOX, KEY))).toEqual(fault);
    expect(await faultOf(service.poll('task-1'))).toEqual(fault);
  });

  test.each<[string, unknown]>([
    ['a promise', Promise.resolve(SECRET)],
    ['a number', 17],
    ['null', null],
  ])('a key that is %s: it could not be hidden', async (_, key) => {
    // A host without types may return anything.
    const service = serviceOf({ start: asked }, { secrets: () => [key as string] });
    expect(await faultOf(service.submit(FOX, KEY))).toEqual({
      kind: 'not-sent',
      message: expect.stringMatching(/^a key of the provider is no text/),
    });
  });

  test('a function that makes no model in time, and what it sends later is not sent', async () => {
    const timeouts = { exchange: { submit: 20, poll: 20, video: 20 } };
    const given: AiSdkFetch[] = [];
    const makeNone = ({ fetch }: { fetch: AiSdkFetch }) => {
      given.push(fetch);
      return new Promise<AiSdkVideoModel>(() => undefined);
    };
    await atServer(
      (request) => replyJson(request, {}),
      async ({ url, requests }) => {
        const service = keepOpen(aiSdkService(makeNone, { timeouts }));
        const fault = { kind: 'not-sent', message: expect.stringContaining('made no model within 20 ms') };
        expect(await faultOf(service.submit(FOX, KEY))).toEqual(fault);
        expect(await faultOf(service.poll('task-1'))).toEqual(fault);
        for (const fetch of given) {
          expect(await faultOf(fetch(url, { method: 'POST' }))).toMatchObject({ kind: 'not-sent' });
        }
        expect(requests).toHaveLength(0);
      },
    );
  });

  test('anything else that goes wrong while the call is prepared', async () => {
    const service = serviceOf({ start: asked }, { requestFields: ['style'] });
    const request = Object.defineProperty({ ...FOX }, 'style', {
      enumerable: true,
      get: () => {
        throw new RangeError('odd');
      },
    });
    expect(await faultOf(service.submit(request, KEY))).toEqual({
      kind: 'not-sent',
      message: 'the call of the model could not be prepared: odd',
    });
  });
});

test('an error after the answer is a lost submit, whatever it says', async () => {
  await atServer(
    (request) => replyJson(request, { id: 'task-1' }),
    async (server) => {
      const service = postingService(server, async (post) => {
        await post();
        throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
      });
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({ kind: 'unreadable', status: 200 });
      expect(server.requests).toHaveLength(1);
    },
  );
});

test('a model by itself whose POST is led elsewhere in vain is a lost submit: the POST was read', async () => {
  const location = 'http://127.0.0.1:1/';
  await atServer(
    (request) => reply(request, { status: 303, headers: { location } }),
    async ({ url, requests }) => {
      const start = () => callApi(url, { method: 'POST', body: '{}' });
      expect(await faultOf(serviceOf({ start }).submit(FOX, KEY))).toMatchObject({
        kind: 'answered',
        status: 303,
      });
      expect(requests).toHaveLength(1);
    },
  );
});

test('a model that would send its request again is stopped', async () => {
  await atServer(
    (request) => replyJson(request, { error: { message: 'busy' } }, { status: 500 }),
    async (server) => {
      const service = postingService(server, (post) => post().catch(() => post()));
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({
        kind: 'answered',
        status: 500,
        message: 'busy',
      });
      expect(server.requests).toHaveLength(1);
    },
  );
});

test('a model may upload something before it starts', async () => {
  await atServer(
    (request) => replyJson(request, { id: request.line.includes('upload') ? 'file-1' : 'task-1' }),
    async (server) => {
      const service = postingService(server, async (post) => {
        await post('/upload');
        return { operation: (await post()).id };
      });
      expect(await service.submit(FOX, KEY)).toMatchObject({ taskId: 'task-1' });
    },
  );
});

test('a second request that fails does not hide that the first one may have made a task', async () => {
  await atServer(
    (request) =>
      replyJson(request, { id: 'task-1' }, { status: request.line.includes('generate') ? 200 : 400 }),
    async (server) => {
      const service = postingService(server, async (post) => {
        await post();
        return post('/confirm');
      });
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({ kind: 'unreadable' });
    },
  );
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
  await atServer(
    (request) => replyJson(request, body),
    async (server) => {
      const service = postingService(server, async (post) => {
        await post();
        throw sdkError('No task id returned');
      });
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject(fault);
    },
  );
});

test('the keys that a provider sends are hidden, and the values of its request are not repeated', async () => {
  await atServer(
    (request) => replyJson(request, { error: { message: `the key ${SECRET} is wrong` } }, { status: 401 }),
    async (server) => {
      const fault = await faultOf(postingService(server).submit(FOX, KEY));
      expect(fault).toMatchObject({ kind: 'answered', status: 401, message: 'the key … is wrong' });
    },
  );
});

test('a model that does not stop at the end of its time is a lost submit', async () => {
  const start = () => new Promise(() => undefined);
  const exchange = { submit: 20, poll: 20, video: 20 };
  const service = serviceOf({ start }, { timeouts: { exchange } });
  expect(await faultOf(service.submit(FOX, KEY))).toEqual({
    kind: 'cut',
    message: expect.stringMatching(/^no complete answer within/),
  });
});

describe('a model whose request is not answered', () => {
  /** The fetch of a call and its signal, which a model may pass on or forget. */
  type Send = (fetch: AiSdkFetch, signal: AbortSignal | undefined) => Promise<unknown>;

  const sendingService = (send: Send) => {
    const exchange = { submit: 200, poll: 200, video: 200 };
    return keepOpen(
      aiSdkService(
        ({ fetch }) => ({
          ...modelOf({ start: ({ abortSignal }) => send(fetch, abortSignal) }),
          ...{ config: { fetch } },
        }),
        { timeouts: { exchange } },
      ),
    );
  };

  const atSilentServer = (work: (server: RawServer) => Promise<void>) => atServer(() => undefined, work);

  test('and that gives up by itself is a lost submit of one POST', async () => {
    await atSilentServer(async ({ url, requests, nextRequest }) => {
      const giveUp = nextRequest().then(() => Promise.reject(new Error('enough')));
      const service = sendingService((fetch) => Promise.race([fetch(url, { method: 'POST' }), giveUp]));
      expect(await faultOf(service.submit(FOX, KEY))).toEqual({ kind: 'cut', message: 'enough' });
      expect(requests).toHaveLength(1);
    });
  });

  test('and that does not stop at the end of its time is a lost submit of one POST', async () => {
    await atSilentServer(async ({ url, requests, nextRequest }) => {
      const service = sendingService((fetch) => fetch(url, { method: 'POST' }));
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({ kind: 'cut' });
      await nextRequest();
      expect(requests).toHaveLength(1);
    });
  });

  test('ends its request with the signal in it', async () => {
    await atSilentServer(async ({ url, nextRequest }) => {
      const service = sendingService((fetch, signal) => fetch(new Request(url, { method: 'POST', signal })));
      const end = nextRequest().then(({ socket }) => closed(socket));
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({ kind: 'cut' });
      await end;
    });
  });

  test('because it comes after the end of its time sends nothing: that submit counts as unsent', async () => {
    await atSilentServer(async ({ url, requests }) => {
      let goOn: () => void = () => undefined;
      const end = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      let late: Promise<unknown> = Promise.resolve();
      const service = sendingService((fetch) => {
        late = end.then(() => fetch(url, { method: 'POST' })).catch((error: unknown) => error);
        return late;
      });
      expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({ kind: 'not-sent' });
      goOn();
      expect(await late).toMatchObject({ message: expect.stringContaining('the call has ended') });
      expect(requests).toEqual([]);
    });
  });
});

test('what the model does not support is a warning', async () => {
  const warnings = [
    { type: 'unsupported', feature: 'seed', details: 'It has no seed.' },
    { type: 'compatibility', feature: 'fps' },
    { type: 'deprecated', setting: 'loop', message: 'Use cycle.' },
    { type: 'other', message: 'Beware.' },
    { type: 'other' },
    'nonsense',
  ];
  const service = serviceOf({ start: () => ({ operation: 'task-1', warnings }) });
  expect((await service.submit(FOX, KEY)).warnings).toEqual([
    'the model does not support seed: It has no seed',
    'the model only imitates fps',
    'the model calls loop deprecated: Use cycle',
    'the model warns: Beware',
  ]);
});

test('warnings that cannot be read do not lose the task', async () => {
  const start = () => ({
    operation: 'task-1',
    get warnings() {
      throw new Error('odd');
    },
  });
  expect(await serviceOf({ start }).submit(FOX, KEY)).toMatchObject({
    taskId: 'task-1',
    warnings: ['the warnings of the model cannot be read'],
  });
});

test('a function that does not give its fetch to the provider is told so', async () => {
  const service = keepOpen(aiSdkService(() => modelOf({})));
  expect((await service.submit(FOX, KEY)).doubts).toEqual([
    'the function of aiSdkService did not give its fetch to the provider',
  ]);
});

test('a service is named by its provider and model', () => {
  expect(serviceOf({ provider: 'fal.video' }).address).toBe('ai-sdk://fal.video/a/model');
});

describe('a model that cannot be used', () => {
  const { doStart: _, doStatus: __, ...bare } = modelOf({});

  test('by itself, because it only generates, is refused with the way that works', () => {
    const generating = { ...bare, doGenerate: async () => ({}) };
    expect(() => aiSdkService(generating)).toThrow(/has no doStart. Give a function/);
  });

  test('because it can do nothing is refused', () => {
    expect(() => aiSdkService(bare)).toThrow(/is no video model/);
  });

  test('because its provider answers with the video itself is refused', () => {
    expect(() => aiSdkService({ ...modelOf({}), provider: 'prodia.video' })).toThrow(/with the video itself/);
  });
});
