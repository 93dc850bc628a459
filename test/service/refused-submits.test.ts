import type { ServiceProfile } from '../../src/service';
import { type Reply, reply } from './raw-server';
import { connect, faultOf, serve, submit } from './service-world';

/** Submits to a service that answers so. */
async function submitTo(body: unknown, profile?: ServiceProfile, head: Reply = {}) {
  const { url } = await serve((request) => reply(request, { ...head, body: JSON.stringify(body) }));
  return submit(connect(url, { profile }));
}

const SERVICE_MESSAGE = { code: 'bad_prompt', message: 'No foxes.' };

describe('an answer with status 200 to a submit', () => {
  it.each<[body: object, status: number, code: string | undefined]>([
    [{ code: 400, message: 'No foxes.', request_id: 'abc' }, 400, '400'],
    [{ code: 429, message: 'No foxes.' }, 429, '429'],
    [{ code: 500, msg: 'No foxes.', requestId: 'abc' }, 500, '500'],
    [{ status: 422, message: 'No foxes.', request_id: 'abc' }, 422, undefined],
    [{ error: { code: 404, message: 'No foxes.' }, request_id: 'abc' }, 404, '404'],
  ])('that has an HTTP status in its body counts as an answer with it: %j', async (body, status, code) => {
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'answered',
      facts: { status, code, message: 'No foxes.', ...(status === 429 && { limited: true }) },
    });
  });

  it.each<[body: object, serviceMessage: object]>([
    [{ error: SERVICE_MESSAGE, request_id: 'abc' }, SERVICE_MESSAGE],
    [{ error: SERVICE_MESSAGE, id: 1, jsonrpc: '2.0' }, SERVICE_MESSAGE],
    [{ success: false, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ status: 'error', message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ errors: [{ message: 'No foxes.' }], request_id: 'abc' }, { message: 'No foxes.' }],
  ])('that refuses in its body is a refusal, with the service’s own message: %j', async (body, said) => {
    expect(await faultOf(submitTo(body))).toMatchObject({ kind: 'refused', facts: { status: 200, ...said } });
  });

  it('that has an unknown code and no clear task id may have made a task, and is quoted', async () => {
    const body = { code: 1102, message: 'No balance', request_id: 'abc' };
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, code: '1102', message: `the answer names no task: ${JSON.stringify(body)}` },
    });
  });

  it.each<[body: object, taskId: string]>([
    [{ request_id: 'abc' }, 'abc'],
    [{ request_id: 'abc', status: 'IN_QUEUE', queue_position: 1 }, 'abc'],
    [{ request_id: 'abc', error: null }, 'abc'],
    [{ request_id: 'abc', error: { code: 0, message: '' } }, 'abc'],
    [{ request_id: 'abc', code: 0, message: 'success' }, 'abc'],
    [{ request_id: 'abc', code: 'success', success: true }, 'abc'],
    // A task that has already failed is still a task: a poll returns the reason.
    [{ request_id: 'abc', status: 'failed', error: SERVICE_MESSAGE }, 'abc'],
    [{ request_id: 'abc', status: 'queued', error: { message: 'image ignored' } }, 'abc'],
    // Paths that mean a task and nothing else.
    [{ task_id: 't', request_id: 'abc', error: SERVICE_MESSAGE }, 't'],
    [{ data: { task_id: 't' }, success: false }, 't'],
    [{ generation_id: 'g', code: 500 }, 'g'],
    [{ code: 7, message: 'fine', id: 't' }, 't'],
  ])('that names a task has made it: %j', async (body, taskId) => {
    expect(await submitTo(body)).toMatchObject({ taskId });
  });

  it('that names a task and has an error leaves a doubt', async () => {
    expect(await submitTo({ task_id: 't', error: SERVICE_MESSAGE })).toEqual({
      taskId: 't',
      doubts: ['task_id is t, and error says that the request was refused'],
    });
  });
});

it.each([
  ['https://user:pass@api.example.com/v2/videos?token=abc', 'https://api.example.com'],
  ['/v2/videos?token=abc', 'another path of the service'],
])('a redirect of a submit to %s says only to which origin it leads', async (location, where) => {
  expect((await faultOf(submitTo('', {}, { status: 308, headers: { location } }))).facts).toMatchObject({
    status: 308,
    message: `it redirects to ${where}`,
  });
});
