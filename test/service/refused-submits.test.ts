import { createVideoService, type OpenedVideoService, type ServiceProfile } from '../../src/service';
import { type RawServer, reply, startRawServer } from './raw-server';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function submit(body: unknown, profile?: ServiceProfile, head: Parameters<typeof reply>[1] = {}) {
  const server: RawServer = await startRawServer((request) =>
    reply(request, { ...head, body: typeof body === 'string' ? body : JSON.stringify(body) }),
  );
  const service: OpenedVideoService = createVideoService({
    baseUrl: server.url,
    apiKey: () => 'key',
    profile,
  });
  opened.push(server, service);
  return service.start({ prompt: 'x' }, { idempotencyKey: 'k' });
}

const SERVICE_MESSAGE = { code: 'bad_prompt', message: 'No foxes.' };

describe('an answer with status 200 to a submit', () => {
  it.each<[body: object, status: number, code: string | undefined]>([
    [{ code: 400, message: 'No foxes.', request_id: 'abc' }, 400, '400'],
    [{ code: '401', message: 'No foxes.', request_id: 'abc' }, 401, '401'],
    [{ code: 429, message: 'No foxes.' }, 429, '429'],
    [{ code: 500, msg: 'No foxes.', requestId: 'abc' }, 500, '500'],
    [{ status: 422, message: 'No foxes.', request_id: 'abc' }, 422, undefined],
    [{ statusCode: 403, error: 'Forbidden', message: 'No foxes.' }, 403, undefined],
    [{ error: { code: 404, message: 'No foxes.' }, request_id: 'abc' }, 404, '404'],
  ])(
    'that has an HTTP status in its body counts as an answer with that status: %j',
    async (body, status, code) => {
      const message: unknown = expect.stringMatching(/^(No foxes\.|Forbidden)$/);
      const facts = { status, code, message, ...(status === 429 && { limited: true }) };
      await expect(submit(body)).rejects.toMatchObject({ kind: 'answered', facts });
    },
  );

  it.each<[body: object, serviceMessage: object]>([
    [{ error: SERVICE_MESSAGE, request_id: 'abc' }, SERVICE_MESSAGE],
    [{ error: SERVICE_MESSAGE }, SERVICE_MESSAGE],
    [{ error: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ error: SERVICE_MESSAGE, id: 1, jsonrpc: '2.0' }, SERVICE_MESSAGE],
    [{ success: false, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ ok: false, message: 'No foxes.', requestId: 'abc' }, { message: 'No foxes.' }],
    [{ success: false, ...SERVICE_MESSAGE, data: { request_id: 'abc' } }, SERVICE_MESSAGE],
    [{ status: 'error', message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ status: 'fail', message: 'No foxes.', data: null, request_id: 'abc' }, { message: 'No foxes.' }],
    [{ errors: [{ message: 'No foxes.' }], request_id: 'abc' }, { message: 'No foxes.' }],
  ])(
    'that refuses in its body is a refusal with the service’s own message: %j',
    async (body, serviceMessage) => {
      await expect(submit(body)).rejects.toMatchObject({
        kind: 'refused',
        facts: { status: 200, ...serviceMessage },
      });
    },
  );

  it('that has an unknown code and no clear task id may have made a task', async () => {
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
    // A task that has already failed is still a task: a poll returns the reason.
    [{ request_id: 'abc', status: 'failed', error: SERVICE_MESSAGE }, 'abc'],
    [{ id: 'abc', status: 'failed', error: SERVICE_MESSAGE }, 'abc'],
    [{ request_id: 'abc', status: 'queued', error: { message: 'image ignored' } }, 'abc'],
    // Paths that mean a task and nothing else.
    [{ task_id: 't', request_id: 'abc', error: SERVICE_MESSAGE }, 't'],
    [{ data: { task_id: 't' }, success: false }, 't'],
    [{ generation_id: 'g', code: 500 }, 'g'],
    [{ code: 7, message: 'fine', id: 't' }, 't'],
  ])('that names a task has made it: %j', async (body, taskId) => {
    expect(await submit(body)).toMatchObject({ taskId });
  });

  it('that names a task and has an error leaves a doubt', async () => {
    expect(await submit({ task_id: 't', error: SERVICE_MESSAGE })).toEqual({
      taskId: 't',
      doubts: ['task_id is t, and error says that the request was refused'],
    });
  });

  it('is read at the path that a profile has for the task id, whatever its name', async () => {
    const profile: ServiceProfile = { read: { taskId: 'request_id' } };
    expect(await submit({ request_id: 'abc', error: SERVICE_MESSAGE }, profile)).toMatchObject({
      taskId: 'abc',
    });
  });
});

describe('a redirect of a submit', () => {
  it.each([301, 302, 303, 307, 308])('with status %d says only to which origin it leads', async (status) => {
    const location = 'https://user:pass@api.example.com/v2/videos?token=abc';
    const submitted = submit('<h1>Moved</h1>', {}, { status, headers: { location } });
    await expect(submitted).rejects.toMatchObject({
      kind: 'answered',
      facts: { status, message: 'it redirects to https://api.example.com' },
    });
  });

  it('to another path of the service says so', async () => {
    const submitted = submit('', {}, { status: 308, headers: { location: '/v2/videos?token=abc' } });
    await expect(submitted).rejects.toMatchObject({
      facts: { message: 'it redirects to another path of the service' },
    });
  });
});

describe('a status after which a task may exist', () => {
  it('is marked so when the profile lists it', async () => {
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
