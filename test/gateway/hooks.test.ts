import type { FastifyInstance } from 'fastify';
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

test('names of a task are found, a flood of hints about one is one search, and nothing changes a search', async () => {
  const queries: string[] = [];
  const list = ({ query }: { query: string }) => {
    queries.push(/IN \('([^']*)'/.exec(query)?.[1] ?? query);
    return [];
  };
  const client = {
    options: { namespace: 'default' },
    withDeadline: (_deadline: number, work: () => unknown) => work(),
    workflow: { list },
  };
  const { app } = await closedGateway({ hookSecret: () => PATH_SECRET, client: client as never });
  apps.push(app);
  const bodies = [
    ...Array.from({ length: 20 }, () => ({ task_id: 'task-1' })),
    { id: 'task-2', status: 'done' },
    { id: 'event-1', data: { id: 'task-3' } },
    { data: { task_id: 'task-4' } },
    { task_id: "' OR 1=1" },
  ];
  for (const payload of bodies) {
    const headers = { host: 'localhost' };
    await app.inject({ method: 'POST', url: `/v1/hooks/${PATH_SECRET}`, headers, payload });
  }
  expect(queries).toEqual(['task-1', 'task-2', 'task-3', 'task-4']);
});
