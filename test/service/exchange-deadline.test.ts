import { BRIEF_POLICY, POLL_POLICY, SUBMIT_POLICY } from '../../src/contract/policies';
import { createVideoService, ServiceFault, type ServiceProfile, type VideoService } from '../../src/service';
import { DEFAULT_TIMEOUTS } from '../../src/service/video-service';
import { closed, type RawRequest, type RawServer, replyJson, startRawServer } from './raw-server';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function serve(answer: (request: RawRequest) => void): Promise<RawServer> {
  const server = await startRawServer(answer);
  opened.push(server);
  return server;
}

/** Bytes come often enough to reset every timeout between two chunks, but the answer never ends. */
const TIMEOUTS = { submit: 300, poll: 300, video: 300 };
const EVERY_MS = 20;

function connect(baseUrl: string, profile?: ServiceProfile): VideoService {
  const service = createVideoService({ baseUrl, apiKey: () => 'key', timeouts: TIMEOUTS, profile });
  opened.push(service);
  return service;
}

/** Sends the beginning at once, and then a piece at a time until the socket closes. */
function trickle({ socket }: RawRequest, beginning: string, more = ' '): void {
  socket.write(beginning);
  const timer = setInterval(() => socket.write(more), EVERY_MS);
  socket.once('close', () => clearInterval(timer));
}

const head = (status: number, ...headers: string[]) =>
  `HTTP/1.1 ${status} Status\r\n${headers.map((header) => `${header}\r\n`).join('')}content-length: 100000\r\n\r\n`;

async function faultOf(call: Promise<unknown>): Promise<ServiceFault> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof ServiceFault) return outcome;
  throw new Error('expected a ServiceFault', { cause: outcome });
}

const PROFILE: ServiceProfile = {
  cancel: { method: 'DELETE', path: '/cancel/{taskId}' },
  video: { id: 'file_id', path: '/files/{fileId}', link: 'url' },
};

const CALLS: [name: string, call: (service: VideoService) => Promise<unknown>][] = [
  ['submit', (service) => service.start({ prompt: 'x' }, { idempotencyKey: 'k' })],
  ['poll', (service) => service.status('task-1')],
  ['cancel', async (service) => service.cancel?.('task-1')],
  ['openVideo', (service) => service.open('/v.mp4')],
];

describe.each(CALLS)('%s does not wait longer than its deadline', (_name, call) => {
  it('for headers that trickle', async () => {
    const server = await serve((request) => trickle(request, 'HTTP/1.1 200 OK\r\nx: ', 'x'));
    const fault = await faultOf(call(connect(server.url, PROFILE)));
    expect(fault).toMatchObject({ kind: 'cut', facts: { message: 'no complete answer within 300 ms' } });
    await closed((await server.nextRequest()).socket);
  });

  it('for one informational answer after another', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const server = await serve((request) => trickle(request, early, early));
    expect(await faultOf(call(connect(server.url, PROFILE)))).toMatchObject({ kind: 'cut' });
    await closed((await server.nextRequest()).socket);
  });

  it('for a refusal that trickles, whose status is known', async () => {
    const server = await serve((request) => trickle(request, head(400)));
    const fault = await faultOf(call(connect(server.url, PROFILE)));
    expect(fault).toMatchObject({ kind: 'answered', facts: { status: 400 } });
    await closed((await server.nextRequest()).socket);
  });
});

describe.each(CALLS.slice(0, 3))('%s does not wait longer than its deadline', (_name, call) => {
  it('for a good answer that trickles', async () => {
    const server = await serve((request) => trickle(request, `${head(200)}{"task_id":"t"`));
    const fault = await faultOf(call(connect(server.url, PROFILE)));
    expect(fault).toMatchObject({ kind: 'cut', facts: { message: 'no complete answer within 300 ms' } });
    await closed((await server.nextRequest()).socket);
  });
});

it('a poll does not wait longer than its deadline for the link either', async () => {
  const server = await serve((request) =>
    request.line.includes('/files/')
      ? trickle(request, `${head(200)}{"url":`)
      : replyJson(request, { status: 'succeeded', file_id: '1' }),
  );
  expect(await faultOf(connect(server.url, PROFILE).status('t'))).toMatchObject({ kind: 'cut' });
});

it('a video does not wait longer than its deadline for redirects that trickle', async () => {
  const server = await serve((request) => {
    const step = Number(/\/(\d+) /.exec(request.line)?.[1]);
    trickle(request, head(302, `location: /${step + 1}`));
  });
  expect(await faultOf(connect(server.url).open('/0'))).toBeInstanceOf(ServiceFault);
  await closed((await server.nextRequest()).socket);
});

it('a video whose bytes have begun to come is not ended by the deadline', async () => {
  const server = await serve((request) => {
    request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na');
    setTimeout(() => request.socket.write('b'), 2 * TIMEOUTS.video);
  });
  const { stream } = await connect(server.url).open('/v.mp4');
  let received = '';
  for await (const chunk of stream) received += String(chunk);
  expect(received).toBe('ab');
});

it('an aborted exchange rejects with the reason of the abort', async () => {
  const server = await serve((request) => trickle(request, head(200)));
  const abort = new AbortController();
  const polling = connect(server.url).status('t', { signal: abort.signal });
  await server.nextRequest();
  const reason = new Error('cancelled');
  abort.abort(reason);
  await expect(polling).rejects.toBe(reason);
});

describe('the deadline of an exchange is below', () => {
  const { submit, poll } = DEFAULT_TIMEOUTS;

  it('the timeout of the activity that submits', () => {
    expect(submit).toBeLessThan(SUBMIT_POLICY.startToCloseTimeout);
  });

  it('the timeout of a poll, which may be two exchanges, each', () => {
    expect(2 * poll).toBeLessThan(POLL_POLICY.startToCloseTimeout);
  });

  it('the timeout of the activity that cancels', () => {
    expect(poll).toBeLessThan(BRIEF_POLICY.startToCloseTimeout);
  });
});
