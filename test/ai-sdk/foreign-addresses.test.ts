import {
  type AiSdkFetch,
  type AiSdkServiceOptions,
  type AiSdkVideoModel,
  aiSdkService,
} from '../../src/ai-sdk';
import type { VideoService } from '../../src/service';
import { callApi } from '../activities/emulator-model';
import { type RawRequest, type RawServer, replyJson, startRawServer } from '../service/raw-server';
import { closeServices, FOX, faultOf, KEY, keepOpen, modelOf, serviceOf } from './models';

const SECRET = 'Key sk-live-0123456789abcdef';

/** The service of the model, and a server of somebody else. */
let own: RawServer;
let foreign: RawServer;
/** What the service answers to a poll. */
let answer: object;
beforeAll(async () => {
  own = await startRawServer((request) => replyJson(request, answer));
  foreign = await startRawServer((request) => replyJson(request, { status: 'IN_PROGRESS' }));
});
beforeEach(() => {
  answer = { status: 'IN_PROGRESS' };
  for (const { requests } of [own, foreign]) requests.length = 0;
});
afterEach(closeServices);
afterAll(() => Promise.all([own.close(), foreign.close()]));

interface LinkedModel {
  fetch?: AiSdkFetch;
  provider?: string;
  /** As the models of most providers have it in their `config`. */
  baseURL?: string;
  /** With its key; true by default. */
  followsWithKey?: boolean;
}

/** A model that asks at the address in its operation, as fal's do, and follows `next` of an answer. */
function linkedModel({
  fetch,
  provider = 'linked.video',
  baseURL,
  followsWithKey = true,
}: LinkedModel): AiSdkVideoModel {
  const headers = { authorization: SECRET };
  return {
    ...modelOf({ provider }),
    ...{ config: { fetch, baseURL } },
    async doStatus({ operation, abortSignal: signal }) {
      const address = String(Reflect.get(Object(operation), 'responseUrl'));
      const { next } = await callApi(address, { headers, signal, fetch });
      if (typeof next === 'string')
        await callApi(next, { ...(followsWithKey && { headers }), signal, fetch });
      return { status: 'pending' };
    },
  };
}

const taskAt = ({ url }: Pick<RawServer, 'url'>) =>
  JSON.stringify({ responseUrl: `${url}/requests/1`, submitUrl: url });
const keysIn = ({ requests }: { requests: RawRequest[] }) =>
  requests.map(({ headers }) => headers.authorization);

type Way = 'by a function' | 'by itself';

function linkedService(way: Way, model: LinkedModel = {}, options?: AiSdkServiceOptions): VideoService {
  const source = (fetch?: AiSdkFetch) => linkedModel({ baseURL: own.url, ...model, fetch });
  return keepOpen(
    way === 'by itself'
      ? aiSdkService(source(), options)
      : aiSdkService(({ fetch }) => source(fetch), options),
  );
}

describe.each<Way>(['by a function', 'by itself'])('with a model %s', (way) => {
  test('a task id that leads to another origin is refused before anything is sent', async () => {
    const { kind, message } = await faultOf(linkedService(way).poll(taskAt(foreign)));
    expect(kind).toBe('not-allowed');
    expect(message).toBe(
      `the task id leads to ${foreign.url}, and this service is at ${own.url}: check the id, or add the origin to the option origins of the service`,
    );
    expect([...own.requests, ...foreign.requests]).toEqual([]);
  });

  test('a task id that leads to the service itself is polled with the key', async () => {
    expect((await linkedService(way).poll(taskAt(own))).task.state).toBe('running');
    expect(keysIn(own)).toEqual([SECRET]);
  });

  test('whose address nobody knows, a task id that leads somewhere is refused until origins names it', async () => {
    const hidden = { baseURL: undefined };
    const { kind, message } = await faultOf(linkedService(way, hidden).poll(taskAt(own)));
    expect([kind, message]).toEqual([
      'not-allowed',
      expect.stringContaining('is not known: name it in the option origins'),
    ]);
    expect(own.requests).toEqual([]);
    await linkedService(way, hidden, { origins: [own.url] }).poll(taskAt(own));
    expect(keysIn(own)).toEqual([SECRET]);
  });
});

test.each([
  ['//evil.example/x'],
  ['https:evil.example'],
  ['\\\\evil.example\\x'],
  [' \nHTTPS://EVIL.EXAMPLE/x'],
  ['https://queue.fal.run@evil.example/x'],
  ['http://queue.fal.run/x'],
  ['https://queue.fal.run:8443/x'],
  ['data:application/json,{"video":1}'],
  ['{"responseUrl":"https://evil.example"}'],
])('an operation with %j leads elsewhere, however deep in it that is', async (text) => {
  const polled: unknown[] = [];
  const status = (operation: unknown) => void polled.push(operation);
  const service = serviceOf({ provider: 'fal.video', status });
  const { kind } = await faultOf(service.poll(JSON.stringify({ a: [1, { b: text }] })));
  expect([kind, polled]).toEqual(['not-allowed', []]);
});

test.each([
  'https://queue.fal.run/fal-ai/veo3/requests/764cabcf-b745-4b3e-ae38-1200304cf45b',
  'models/veo-3.1/operations/abc',
  '/v1/tasks/7',
  'urn:task:7',
  'cgt:2026',
])('an operation with %j stays with the service', async (text) => {
  const service = serviceOf({ provider: 'fal.video' });
  expect((await service.poll(JSON.stringify({ text }))).task.state).toBe('running');
});

test('an operation of thousands of brackets is looked through too', async () => {
  const operation = `${'['.repeat(480)}"//evil.example"${']'.repeat(480)}`;
  expect((await faultOf(serviceOf({ provider: 'fal.video' }).poll(operation))).kind).toBe('not-allowed');
});

test('a submit whose operation leads elsewhere keeps its task, and says what its polls will say', async () => {
  const operation = { responseUrl: 'https://elsewhere.example/1' };
  const service = serviceOf({ provider: 'fal.video', start: () => ({ operation }) });
  const { taskId, doubts } = await service.submit(FOX, KEY);
  expect(taskId).toBe(JSON.stringify(operation));
  expect(doubts).toEqual([expect.stringContaining('leads to https://elsewhere.example')]);
});

describe('an answer that leads a poll elsewhere', () => {
  test('does not get the key there', async () => {
    answer = { next: `${foreign.url}/next` };
    expect(await faultOf(linkedService('by a function').poll(taskAt(own)))).toEqual({
      kind: 'not-allowed',
      message: `the model would send its key to ${foreign.url}, and this service is at ${own.url}: add the origin to the option origins of the service if it is the same service`,
    });
    expect(foreign.requests).toEqual([]);
  });

  test('gets it there if origins names the place', async () => {
    answer = { next: `${foreign.url}/next` };
    await linkedService('by a function', {}, { origins: [foreign.url] }).poll(taskAt(own));
    expect(keysIn(foreign)).toEqual([SECRET]);
  });

  test.each(['http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'https://169.254.169.254/latest/meta-data'])(
    'does not lead into the network of the worker: %s',
    async (next) => {
      answer = { next };
      const service = linkedService('by a function', { followsWithKey: false });
      expect((await faultOf(service.poll(taskAt(own)))).kind).toBe('not-allowed');
    },
  );

  test('leads to a host that is allowed, without the key', async () => {
    answer = { next: `${foreign.url}/next` };
    const allowed = { downloadAllow: ['127.0.0.1'] };
    await linkedService('by a function', { followsWithKey: false }, allowed).poll(taskAt(own));
    expect(keysIn(foreign)).toEqual([undefined]);
  });

  test('is no failed task, although the model calls it one', async () => {
    answer = { next: `${foreign.url}/next` };
    const service = keepOpen(
      aiSdkService(({ fetch }) => {
        const model = linkedModel({ fetch, baseURL: own.url });
        const doStatus: AiSdkVideoModel['doStatus'] = async (options) =>
          Promise.resolve(model.doStatus?.(options)).catch((error: Error) => ({
            status: 'error',
            error: error.message,
          }));
        return { ...model, doStatus };
      }),
    );
    expect((await faultOf(service.poll(taskAt(own)))).kind).toBe('not-allowed');
  });
});

test('an origin that is no address is refused when the service is made', () => {
  expect(() => serviceOf({}, { origins: ['queue.fal.run'] })).toThrow(
    'aiSdkService: origins has queue.fal.run, which is no address such as https://api.example.com.',
  );
});
