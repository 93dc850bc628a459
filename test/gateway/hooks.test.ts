import type { FastifyInstance } from 'fastify';
import { taskIdIn } from '../../src/gateway/hooks';
import { Refusal } from '../../src/gateway/http-errors';
import { takeJobOptions } from '../../src/gateway/job-options';
import { PollHints } from '../../src/gateway/poll-hints';
import { signWebhook } from '../../src/service';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { closedGateway } from './closed-gateway';

const PATH_SECRET = 'a'.repeat(40);
const BODY = JSON.stringify({ task_id: 'task-1' });
const apps: FastifyInstance[] = [];
afterAll(() => Promise.all(apps.map((app) => app.close())));

async function hooks(secret: string | undefined) {
  const { app } = await closedGateway({ hookSecret: secret === undefined ? undefined : () => secret });
  apps.push(app);
  return async (path: string, payload: string, headers: Record<string, string> = {}) => {
    const sent = { host: 'localhost', 'content-type': 'application/json', ...headers };
    return (await app.inject({ method: 'POST', url: path, payload, headers: sent })).statusCode;
  };
}

test.each([
  [{ task_id: 'task-1' }, 'task-1'],
  [{ id: 'task-2', status: 'done' }, 'task-2'],
  [{ id: 'event-1', data: { id: 'task-3' } }, 'task-3'],
  [{ data: { task_id: 'task-4' } }, 'task-4'],
])('%j names a task', (body, taskId) => {
  expect(taskIdIn(body)).toBe(taskId);
});

test('a webhook of the service is accepted, also while Temporal does not answer', async () => {
  const post = await hooks(PATH_SECRET);
  expect(await post(`/v1/hooks/${PATH_SECRET}`, BODY)).toBe(200);
});

test('the longest secret that can be set fits into the path, with every character escaped', async () => {
  const longest = '/'.repeat(200);
  const post = await hooks(longest);
  expect(await post(`/v1/hooks/${encodeURIComponent(longest)}`, BODY)).toBe(200);
});

test('a wrong secret in the path, none, or a gateway without one is an address that does not exist', async () => {
  const post = await hooks(PATH_SECRET);
  expect(await post(`/v1/hooks/${'b'.repeat(40)}`, BODY)).toBe(404);
  expect(await post('/v1/hooks/', BODY)).toBe(404);
  expect(await post('/v1/hooks', BODY)).toBe(404);
  const without = await hooks(undefined);
  expect(await without('/v1/hooks/', BODY)).toBe(404);
  expect(await without(`/v1/hooks/${PATH_SECRET}`, BODY)).toBe(404);
});

test('a signed webhook needs no secret in the path, and a wrong signature is 404', async () => {
  const post = await hooks(WEBHOOK_SECRET);
  const headers = signWebhook('evt-1', BODY, { secret: WEBHOOK_SECRET });
  expect(await post('/v1/hooks', BODY, headers)).toBe(200);
  expect(await post('/v1/hooks', `${BODY} `, headers)).toBe(404);
  expect(await post('/v1/hooks', BODY)).toBe(404);
});

test.each(['', '{', '[]', 'null', '{}', '{"task_id":5}', '{"id":" "}'])(
  'the body %j names no task',
  async (body) => {
    const post = await hooks(PATH_SECRET);
    expect(await post(`/v1/hooks/${PATH_SECRET}`, body)).toBe(400);
  },
);

test('a huge body is refused', async () => {
  const post = await hooks(PATH_SECRET);
  expect(await post(`/v1/hooks/${PATH_SECRET}`, JSON.stringify({ task_id: 'x'.repeat(70_000) }))).toBe(413);
});

test('a flood of hints about one task is one poll a second, and other tasks are not held up', async () => {
  let nowMs = 0;
  const polled: string[] = [];
  const hints = new PollHints(
    async (taskId) => void polled.push(taskId),
    () => nowMs,
  );
  for (; nowMs < 2_500; nowMs += 100) await hints.hint('task-1');
  await hints.hint('task-2');
  // It would change the search.
  await hints.hint("' OR 1=1");
  expect(polled).toEqual(['task-1', 'task-1', 'task-1', 'task-2']);
});

test('callback_url becomes an option of the job and never reaches the service', () => {
  const url = 'https://example.com/hooks';
  expect(takeJobOptions({ prompt: 'A fox', callback_url: url })).toEqual({
    body: { prompt: 'A fox' },
    options: { callbackUrl: url },
  });
  expect(takeJobOptions({ prompt: 'A fox', callback_url: null })).toEqual({
    body: { prompt: 'A fox' },
    options: {},
  });
  expect(takeJobOptions('text')).toEqual({ body: 'text', options: {} });
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
  const refuse = () => takeJobOptions({ callback_url: url });
  expect(refuse).toThrow(Refusal);
  expect(refuse).toThrow('callback_url must be an http(s) URL');
});
