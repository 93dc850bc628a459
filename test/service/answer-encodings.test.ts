import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { createVideoService, ServiceFault, type VideoService } from '../../src/service';
import { type RawServer, type Reply, reply, startRawServer } from './raw-server';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function answering(answer: Reply): Promise<RawServer & { service: VideoService }> {
  const server = await startRawServer((request) => reply(request, answer));
  const service = createVideoService({ baseUrl: server.url, apiKey: () => 'key' });
  opened.push(server, service);
  return { ...server, service };
}

const submit = (service: VideoService) => service.start({ prompt: 'x' }, { idempotencyKey: 'k' });

async function faultOf(call: Promise<unknown>): Promise<ServiceFault> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof ServiceFault) return outcome;
  throw new Error('expected a ServiceFault', { cause: outcome });
}

const TASK = '{"task_id":"task-1","status":"queued"}';
const BOM = '\ufeff';

describe('an answer of the service', () => {
  it('is requested without an encoding', async () => {
    const { service, requests } = await answering({ body: TASK });
    await submit(service);
    await service.status('task-1');
    expect(requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
  });

  it.each([
    ['gzip', gzipSync(TASK)],
    ['x-gzip', gzipSync(TASK)],
    ['GZIP', gzipSync(TASK)],
    ['deflate', deflateSync(TASK)],
    ['br', brotliCompressSync(TASK)],
    // Some servers mean the charset, and some proxies have already decoded the body.
    ['utf-8', Buffer.from(TASK)],
    ['gzip', Buffer.from(TASK)],
  ])('in the encoding %s, although none was requested, is read', async (encoding, body) => {
    const { service } = await answering({ headers: { 'content-encoding': encoding }, body });
    expect(await submit(service)).toMatchObject({ taskId: 'task-1' });
    expect((await service.status('task-1')).task).toMatchObject({ state: 'queued' });
  });

  it('that refuses in an encoding is read', async () => {
    const body = gzipSync('{"error":{"code":"bad_prompt","message":"No."}}');
    const { service } = await answering({ status: 400, headers: { 'content-encoding': 'gzip' }, body });
    expect((await faultOf(submit(service))).facts).toMatchObject({ code: 'bad_prompt', message: 'No.' });
  });

  it('without a body is empty, whatever its encoding', async () => {
    const { service } = await answering({ status: 202, headers: { 'content-encoding': 'gzip' }, body: '' });
    expect((await service.status('task-1')).task.state).not.toBe('failed');
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000, ' '))],
    ['br', brotliCompressSync(Buffer.alloc(5_000_000, ' '))],
  ])('that is too large once decoded from %s is unreadable', async (encoding, body) => {
    const { service } = await answering({ headers: { 'content-encoding': encoding }, body });
    expect(await faultOf(submit(service))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, message: 'the answer is larger than 1048576 bytes' },
    });
  });

  it('that cannot be decoded is unreadable', async () => {
    const body = gzipSync(TASK).subarray(0, 20);
    const { service } = await answering({ headers: { 'content-encoding': 'gzip' }, body });
    expect(await faultOf(submit(service))).toMatchObject({
      kind: 'unreadable',
      facts: {
        status: 200,
        message: 'the answer cannot be decoded as gzip, which its Content-Encoding names',
      },
    });
  });

  it.each([
    ['UTF-8 with a byte order mark', Buffer.from(BOM + TASK), 'application/json'],
    ['UTF-8 under another charset', Buffer.from(TASK), 'application/json; charset=iso-8859-1'],
  ])('in %s is read', async (_, body, type) => {
    const { service } = await answering({ headers: { 'content-type': type }, body });
    expect(await submit(service)).toMatchObject({ taskId: 'task-1' });
  });
});
