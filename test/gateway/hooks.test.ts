import type { Client } from '@temporalio/client';
import Fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { takeCallbackUrl } from '../../src/gateway/callback-url';
import { serveHooks } from '../../src/gateway/hooks';
import { Refusal, toHttpError } from '../../src/gateway/http-errors';
import { PollHints } from '../../src/gateway/poll-hints';
import { signWebhook } from '../../src/service';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';

const PATH_SECRET = 'a'.repeat(40);
const apps: FastifyInstance[] = [];
afterAll(() => Promise.all(apps.map((app) => app.close())));

/** The hooks alone, and the tasks that they hinted at. */
async function hooks(secret: string | undefined) {
  const hinted: string[] = [];
  const app = Fastify();
  apps.push(app);
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((error, _request, reply) => {
    const { status = 500, body = {} } = toHttpError(error) ?? {};
    return reply.code(status).send(body);
  });
  const hints = new PollHints({ workflow: new FakeList(hinted) } as unknown as Client);
  await serveHooks(app, {
    hookSecret: secret === undefined ? undefined : () => secret,
    hints,
    log: () => undefined,
  });
  const url = await app.listen({ port: 0 });
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const sent = { 'content-type': 'application/json', ...headers };
    return (await fetch(`${url}${path}`, { method: 'POST', body, headers: sent })).status;
  };
  return { hinted, post };
}

/** No mock of behaviour: it only notes which tasks were searched for. */
class FakeList {
  constructor(private readonly hinted: string[]) {}

  list({ query }: { query: string }): never[] {
    this.hinted.push(/VideoTaskId = '([^']*)'/.exec(query)?.[1] ?? query);
    return [];
  }
}

const NAMED: [body: object, taskId: string][] = [
  [{ task_id: 'task-1' }, 'task-1'],
  [{ id: 'task-2', status: 'done' }, 'task-2'],
  [{ id: 'event-1', data: { id: 'task-3' } }, 'task-3'],
  [{ data: { task_id: 'task-4' } }, 'task-4'],
];

test.each(NAMED)('%j names a task', async (body, taskId) => {
  const { hinted, post } = await hooks(PATH_SECRET);
  expect(await post(`/v1/hooks/${PATH_SECRET}`, JSON.stringify(body))).toBe(200);
  expect(hinted).toEqual([taskId]);
});

test('a wrong secret in the path, none, or a gateway without one is an address that does not exist', async () => {
  const { hinted, post } = await hooks(PATH_SECRET);
  const body = JSON.stringify({ task_id: 'task-1' });
  expect(await post(`/v1/hooks/${'b'.repeat(40)}`, body)).toBe(404);
  expect(await post('/v1/hooks/', body)).toBe(404);
  expect(await post('/v1/hooks', body)).toBe(404);
  const without = await hooks(undefined);
  expect(await without.post('/v1/hooks/', body)).toBe(404);
  expect(await without.post(`/v1/hooks/${PATH_SECRET}`, body)).toBe(404);
  expect([...hinted, ...without.hinted]).toEqual([]);
});

test('a signed webhook needs no secret in the path, and a wrong signature is 404', async () => {
  const { hinted, post } = await hooks(WEBHOOK_SECRET);
  const body = '{ "data": { "id": "task-1" } }';
  const headers = signWebhook('evt-1', body, { secret: WEBHOOK_SECRET });
  expect(await post('/v1/hooks', body, headers)).toBe(200);
  expect(await post('/v1/hooks', `${body} `, headers)).toBe(404);
  expect(await post('/v1/hooks', body)).toBe(404);
  expect(hinted).toEqual(['task-1']);
});

test.each(['', '{', '[]', 'null', '{}', '{"task_id":5}', '{"id":" "}'])(
  'the body %j names no task',
  async (body) => {
    const { hinted, post } = await hooks(PATH_SECRET);
    expect(await post(`/v1/hooks/${PATH_SECRET}`, body)).toBe(400);
    expect(hinted).toEqual([]);
  },
);

test('a huge body is refused, and an id that would change the search is not searched for', async () => {
  const { hinted, post } = await hooks(PATH_SECRET);
  expect(await post(`/v1/hooks/${PATH_SECRET}`, JSON.stringify({ task_id: 'x'.repeat(70_000) }))).toBe(413);
  expect(await post(`/v1/hooks/${PATH_SECRET}`, JSON.stringify({ task_id: "' OR 1=1" }))).toBe(200);
  expect(hinted).toEqual([]);
});

test('a flood of hints about one task is one poll a second, and other tasks are not held up', async () => {
  let nowMs = 0;
  const hinted: string[] = [];
  const hints = new PollHints({ workflow: new FakeList(hinted) } as unknown as Client, () => nowMs);
  for (; nowMs < 2_500; nowMs += 100) await hints.hint('task-1');
  await hints.hint('task-2');
  expect(hinted).toEqual(['task-1', 'task-1', 'task-1', 'task-2']);
});

test('callback_url becomes an option of the job and never reaches the service', () => {
  const url = 'https://example.com/hooks';
  expect(takeCallbackUrl({ prompt: 'A fox', callback_url: url })).toEqual({
    body: { prompt: 'A fox' },
    options: { callbackUrl: url },
  });
  expect(takeCallbackUrl({ prompt: 'A fox', callback_url: null })).toEqual({
    body: { prompt: 'A fox' },
    options: {},
  });
  expect(takeCallbackUrl('text')).toEqual({ body: 'text', options: {} });
});

test.each([
  '',
  'example.com',
  'ftp://example.com',
  'https://me:secret@example.com',
  'https://',
  5,
  `https://example.com/${'x'.repeat(2_000)}`,
])('the callback_url %j is refused beside its field', (url) => {
  const refuse = () => takeCallbackUrl({ callback_url: url });
  expect(refuse).toThrow(Refusal);
  expect(refuse).toThrow('callback_url must be an http(s) URL');
});
