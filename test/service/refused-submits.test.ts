import { createVideoService, type ServiceProfile, type VideoService } from '../../src/service';
import { type RawServer, reply, startRawServer } from './raw-server';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function submit(body: unknown, profile?: ServiceProfile, head: Parameters<typeof reply>[1] = {}) {
  const server: RawServer = await startRawServer((request) =>
    reply(request, { ...head, body: typeof body === 'string' ? body : JSON.stringify(body) }),
  );
  const service: VideoService = createVideoService({ baseUrl: server.url, apiKey: () => 'key', profile });
  opened.push(server, service);
  return service.submit({ prompt: 'x' }, { idempotencyKey: 'k' });
}

const SAID = { code: 'bad_prompt', message: 'No foxes.' };

describe('an answer with status 200 to a submit', () => {
  it.each<[body: object, status: number, code: string | undefined]>([
    [{ code: 400, message: 'No foxes.', request_id: 'abc' }, 400, '400'],
    [{ code: '401', message: 'No foxes.', request_id: 'abc' }, 401, '401'],
    [{ code: 429, message: 'No foxes.' }, 429, '429'],
    [{ code: 500, msg: 'No foxes.', requestId: 'abc' }, 500, '500'],
    [{ status: 422, message: 'No foxes.', request_id: 'abc' }, 422, undefined],
    [{ statusCode: 403, error: 'Forbidden', message: 'No foxes.' }, 403, undefined],
    [{ error: { code: 404, message: 'No foxes.' }, request_id: 'abc' }, 404, '404'],
  ])('that names an HTTP status, as %j does, is an answer with that one', async (body, status, code) => {
    const message: unknown = expect.stringMatching(/^(No foxes\.|Forbidden)$/);
    const facts = { status, code, message, ...(status === 429 && { limited: true }) };
    await expect(submit(body)).rejects.toMatchObject({ kind: 'answered', facts });
  });

  it.each<[body: object, said: object]>([
    [{ error: SAID, request_id: 'abc' }, SAID],
    [{ error: SAID }, SAID],
    [{ error: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ error: SAID, id: 1, jsonrpc: '2.0' }, SAID],
    [{ success: false, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ ok: false, message: 'No foxes.', requestId: 'abc' }, { message: 'No foxes.' }],
    [{ success: false, ...SAID, data: { request_id: 'abc' } }, SAID],
    [{ status: 'error', message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ status: 'fail', message: 'No foxes.', data: null, request_id: 'abc' }, { message: 'No foxes.' }],
    [{ errors: [{ message: 'No foxes.' }], request_id: 'abc' }, { message: 'No foxes.' }],
  ])('that refuses, as %j does, is a refusal in the service’s own words', async (body, said) => {
    await expect(submit(body)).rejects.toMatchObject({ kind: 'refused', facts: { status: 200, ...said } });
  });

  it('that has a code which nobody knows and names no task for sure may have made one', async () => {
    await expect(submit({ code: 1102, message: 'No balance', request_id: 'abc' })).rejects.toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, code: '1102', message: expect.stringContaining('No balance') },
    });
  });

  it.each<[body: object, taskId: string]>([
    [{ request_id: 'abc' }, 'abc'],
    [{ request_id: 'abc', status: 'IN_QUEUE', queue_position: 1 }, 'abc'],
    [{ request_id: 'abc', error: null }, 'abc'],
    [{ request_id: 'abc', error: '' }, 'abc'],
    [{ request_id: 'abc', error: {} }, 'abc'],
    [{ request_id: 'abc', error: { code: 0, message: '' } }, 'abc'],
    [{ request_id: 'abc', errors: [] }, 'abc'],
    [{ request_id: 'abc', error: false }, 'abc'],
    [{ request_id: 'abc', code: 0, message: 'success' }, 'abc'],
    [{ request_id: 'abc', code: 200, message: 'accepted' }, 'abc'],
    [{ request_id: 'abc', code: 201 }, 'abc'],
    [{ request_id: 'abc', code: 'success', success: true }, 'abc'],
    [{ request_id: 'abc', status: 200 }, 'abc'],
    [{ request_id: 'abc', message: 'Task accepted' }, 'abc'],
    // A task that has failed already is one: its status tells why.
    [{ request_id: 'abc', status: 'failed', error: SAID }, 'abc'],
    [{ id: 'abc', status: 'failed', error: SAID }, 'abc'],
    [{ request_id: 'abc', status: 'queued', error: { message: 'image ignored' } }, 'abc'],
    // Names that mean a task and nothing else.
    [{ task_id: 't', request_id: 'abc', error: SAID }, 't'],
    [{ data: { task_id: 't' }, success: false }, 't'],
    [{ generation_id: 'g', code: 500 }, 'g'],
    [{ code: 7, message: 'fine', id: 't' }, 't'],
  ])('that names a task, as %j does, has made it', async (body, taskId) => {
    expect(await submit(body)).toMatchObject({ taskId });
  });

  it('that names a task beside an error leaves a doubt', async () => {
    expect(await submit({ task_id: 't', error: SAID })).toEqual({
      taskId: 't',
      doubts: ['task_id is t, and error says that the request was refused'],
    });
  });

  it('is read at the place that a profile names for the task, whatever that is called', async () => {
    const profile: ServiceProfile = { read: { taskId: 'request_id' } };
    expect(await submit({ request_id: 'abc', error: SAID }, profile)).toMatchObject({ taskId: 'abc' });
  });
});

describe('a redirect of a submit', () => {
  it.each([301, 302, 303, 307, 308])(
    'with status %d tells where it leads, by its origin alone',
    async (status) => {
      const location = 'https://user:pass@api.example.com/v2/videos?token=abc';
      const submitted = submit('<h1>Moved</h1>', {}, { status, headers: { location } });
      await expect(submitted).rejects.toMatchObject({
        kind: 'answered',
        facts: { status, message: 'it leads to https://api.example.com' },
      });
    },
  );

  it('to another path of the same service tells that', async () => {
    const submitted = submit('', {}, { status: 308, headers: { location: '/v2/videos?token=abc' } });
    await expect(submitted).rejects.toMatchObject({
      facts: { message: 'it leads to another path of the service' },
    });
  });
});

describe('a status with which a service may have made a task', () => {
  it('is told as one, by its profile, of a submit and of nothing else', async () => {
    const profile: ServiceProfile = { refusals: { taskMayExist: [500, 503] } };
    await expect(submit({ message: 'x' }, profile, { status: 500 })).rejects.toMatchObject({
      facts: { status: 500, taskMayExist: true },
    });
    await expect(submit({ code: 503, message: 'x' }, profile)).rejects.toMatchObject({
      facts: { status: 503, taskMayExist: true },
    });
    const other: unknown = await submit({ message: 'x' }, profile, { status: 501 }).catch((error) => error);
    expect(other).not.toHaveProperty('facts.taskMayExist');
  });
});
