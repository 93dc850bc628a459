import { type AiSdkServiceOptions, aiSdkService } from '../../src/ai-sdk';
import type { AiSdkVideoModel } from '../../src/ai-sdk/video-model-types';
import type { VideoService } from '../../src/service';
import { callApi } from '../activities/emulator-model';
import { type RawServer, replyJson, startRawServer } from '../service/raw-server';
import {
  answerWith,
  faultOf,
  keepOpen,
  modelOf,
  modelServer,
  SECRET,
  serviceOf,
  useModelServer,
} from './models';

useModelServer();

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
  /** The model returns its errors, as some do. */
  callsFaultsFailures?: boolean;
}

/** A model that asks at the address in its operation, as fal's do, and follows `next` of an answer. */
function linkedService({
  followsWithKey = true,
  callsFaultsFailures,
  ...options
}: LinkedModel = {}): VideoService {
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
        doStatus: ({ operation, abortSignal }) => {
          const asking = ask(String(Reflect.get(Object(operation), 'responseUrl')), abortSignal);
          return callsFaultsFailures
            ? asking.catch((error: Error) => ({ status: 'error', error: error.message }))
            : asking;
        },
      };
    }, options),
  );
}

test('a task id that leads to another origin does not get the key there', async () => {
  const { kind, message } = await faultOf(linkedService().status(taskAt(foreign.url)));
  expect(kind).toBe('not-allowed');
  expect(message).toBe(
    `the model would send its key to ${foreign.url}, and this service is at ${modelServer().url}: check the task id, or add the origin to the option origins of the service`,
  );
  expect(foreign.requests).toEqual([]);
});

test('a task id that leads to the service itself is polled with the key', async () => {
  expect((await linkedService().status(taskAt(`${modelServer().url}/1`))).task.state).toBe('running');
  expect(keysIn(modelServer())).toEqual([headers.authorization]);
});

test.each(['http://queue.fal.run/x', 'https://queue.fal.run:8443/x'])(
  'an address such as %s is not that of the service',
  async (address) => {
    const service = linkedService({ origins: ['https://queue.fal.run'] });
    expect((await faultOf(service.status(taskAt(address)))).kind).toBe('not-allowed');
  },
);

describe('an answer that leads a poll elsewhere', () => {
  const polled = (next: string, model?: LinkedModel) => {
    answerWith((request) => replyJson(request, { next }));
    return linkedService(model).status(taskAt(modelServer().url));
  };

  test('does not get the key there, and is not a failed task, although the model calls it one', async () => {
    for (const callsFaultsFailures of [false, true]) {
      const fault = await faultOf(polled(`${foreign.url}/next`, { callsFaultsFailures }));
      expect(fault.kind).toBe('not-allowed');
    }
    expect(foreign.requests).toEqual([]);
  });

  test('gets it there if origins names the place', async () => {
    await polled(`${foreign.url}/next`, { origins: [foreign.url] });
    expect(keysIn(foreign)).toEqual([headers.authorization]);
  });

  test.each(['http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'https://169.254.169.254/latest/meta-data'])(
    'does not lead into the network of the worker: %s',
    async (next) => {
      expect((await faultOf(polled(next, { followsWithKey: false }))).kind).toBe('not-allowed');
    },
  );

  test('leads to a host that is allowed, without the key and without the key in its address', async () => {
    const allowed = { followsWithKey: false, downloadAllow: ['127.0.0.1'] };
    await polled(`${foreign.url}/next`, allowed);
    expect(keysIn(foreign)).toEqual([undefined]);
    expect((await faultOf(polled(`${foreign.url}/next?token=${SECRET}`, allowed))).kind).toBe('not-allowed');
  });
});

test('an origin that is not an address is refused when the service is made', () => {
  expect(() => serviceOf({}, { origins: ['queue.fal.run'] })).toThrow(
    'aiSdkService: origins has queue.fal.run, which is not an address such as https://api.example.com.',
  );
});
