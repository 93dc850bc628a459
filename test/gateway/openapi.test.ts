import type { FastifyInstance } from 'fastify';
import { AnswerChecker } from '../support/answer-checker';
import { closedGateway } from './closed-gateway';

let app: FastifyInstance;
beforeAll(async () => {
  ({ app } = await closedGateway({
    keys: { find: (key) => (key === 'k' ? { name: 'shop', sha256: '', limits: {} } : undefined) },
  }));
});
afterAll(() => app.close());

const document = async () => (await app.inject('/openapi.json')).json();
const authorization = 'Bearer k';

it('the document has every route of the interface, each with an id of its own', async () => {
  const { openapi, paths } = await document();
  expect(openapi).toBe('3.1.0');
  const operations = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.sort()).toEqual([
    'DELETE /v1/videos/{id}',
    'GET /livez',
    'GET /openapi.json',
    'GET /readyz',
    'GET /v1/videos',
    'GET /v1/videos/{id}',
    'GET /v1/videos/{id}/content',
    'GET /v1/videos/{id}/events',
    'POST /v1/hooks',
    'POST /v1/hooks/{secret}',
    'POST /v1/images',
    'POST /v1/videos',
    'POST /v1/videos/image-to-video',
    'POST /v1/videos/text-to-video',
    'POST /v1/videos/{id}/decision',
  ]);
  const ids = Object.values<object>(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).not.toContain(undefined);
});

it('every example fits its schema, and every reference leads somewhere', async () => {
  const served = await document();
  const { schemas } = served.components;
  const route = (name: string) => ({ [`/${name}`]: { get: { responses: { 200: answer(name) } } } });
  const answer = (name: string) => ({
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
  });
  const paths = Object.assign({}, ...Object.keys(schemas).map(route));
  const checker = new AnswerChecker({ ...served, paths });
  const headers = { 'content-type': 'application/json', 'x-request-id': 'req_1' };
  for (const [name, { examples = [] }] of Object.entries<{ examples?: unknown[] }>(schemas)) {
    for (const example of examples) {
      const given = { method: 'GET', route: `/${name}`, status: 200, headers };
      expect(checker.problemsWith(given, JSON.stringify(example))).toEqual([]);
    }
  }
  const references = JSON.stringify(served).match(/#\/components\/schemas\/\w+/g) ?? [];
  expect(references.filter((reference) => !(reference.replace(/.*\//, '') in schemas))).toEqual([]);
});

it('says who needs a key, and that every answer may be an error', async () => {
  const { paths, security } = await document();
  expect(security).toEqual([{ key: [] }]);
  expect(paths['/livez'].get.security).toEqual([]);
  const content = paths['/v1/videos/{id}/content'].get.responses;
  expect(Object.keys(content)).toEqual(['200', '206', '304', 'default']);
  expect(content[304]).not.toHaveProperty('content');
  const { app: open } = await closedGateway();
  expect((await open.inject('/openapi.json')).json().security).toEqual([]);
  await open.close();
});

it('the document lists the services that the gateway knows', async () => {
  const one = { profile: undefined, requestFields: [] };
  const { app: several } = await closedGateway({ services: { services: { fal: one, veo: one } } });
  const { components } = (await several.inject('/openapi.json')).json();
  expect(components.schemas.CreateVideo.properties.service).toMatchObject({ enum: ['fal', 'veo'] });
  await several.close();
});

it('an answer that is not in the document fails the test that got it', async () => {
  const checker = new AnswerChecker(await document());
  const given = { method: 'GET', route: '/v1/videos/:id', status: 218, headers: {} };
  expect(checker.problemsWith(given, '')).toEqual(['GET /v1/videos/:id 218 is not in the document']);
  const headers = { 'content-type': 'application/json', 'x-request-id': 'req_1' };
  expect(checker.problemsWith({ ...given, status: 404, headers }, '{"error":"none"}')).toEqual([
    expect.stringContaining('does not fit'),
  ]);
  expect(checker.problemsWith({ ...given, status: 503, headers }, '{}')[0]).toContain('lacks retry-after');
  const events = { ...given, route: '/v1/videos/:id/events', status: 200 };
  expect(checker.problemsWithEvents(events, 'id: 1\nevent: video.lost\ndata: {}\n\n')).toEqual([
    expect.stringContaining('data/event must be equal to one of the allowed values'),
    expect.stringContaining("data must have required property 'id'"),
  ]);
});

describe('odd requests', () => {
  it.each([
    ['a path that is not a URL', { url: '/v1/videos/%zz' }, 400],
    ['a NUL byte in an id', { url: '/v1/videos/a%00b' }, 404],
    ['an id of 5,000 characters', { url: `/v1/videos/${'a'.repeat(5_000)}` }, 404],
    ['a repeated limit', { url: '/v1/videos?limit=1&limit=2' }, 400],
    ['a limit of nothing', { url: '/v1/videos?limit=' }, 400],
    ['a huge limit', { url: '/v1/videos?limit=99999999999999999999' }, 400],
    ['an unknown order', { url: '/v1/videos?order=asc' }, 400],
    ['an unknown cursor', { url: '/v1/videos?after=%00' }, 404],
  ] as const)('%s is refused in JSON', async (_name, { url }, status) => {
    const { statusCode, body, headers } = await app.inject({ url, headers: { authorization } });
    expect([statusCode, headers['x-content-type-options']]).toEqual([status, 'nosniff']);
    expect(JSON.parse(body)).toMatchObject({ error: { message: expect.any(String) } });
  });

  it.each([
    ['malformed JSON', 'application/json', '{"prompt":', 400],
    ['an empty body', 'application/json', '', 400],
    ['JSON that is not an object', 'application/json', '[]', 400],
    ['null', 'application/json', 'null', 400],
    ['a key that would become a prototype', 'application/json', '{"__proto__":{"prompt":"x"}}', 400],
    ['a number that no integer holds', 'application/json', '{"prompt":"A fox","seed":1e400}', 400],
    ['text', 'text/plain', 'A fox', 415],
    ['a type that is not one', 'nonsense', 'A fox', 415],
    ['a form without a boundary', 'multipart/form-data', 'A fox', 400],
    ['a form that breaks off', 'multipart/form-data; boundary=x', '--x\r\nContent-Disp', 400],
    ['too much', 'application/json', JSON.stringify({ prompt: 'x'.repeat(3_000_000) }), 413],
  ])('%s as a body is refused', async (_name, type, payload, status) => {
    for (const url of ['/v1/videos', '/v1/videos/text-to-video']) {
      const headers = { authorization, 'content-type': type };
      const { statusCode, body } = await app.inject({ method: 'POST', url, headers, payload });
      expect([statusCode, body]).toEqual([status, expect.stringContaining('"error"')]);
    }
  });

  // Schemathesis found QUERY answered with 400.
  it.each(['PUT', 'PATCH', 'TRACE', 'OPTIONS', 'QUERY'])(
    '%s is 405 with the methods of the path',
    async (method) => {
      const { statusCode, headers } = await app.inject({
        method,
        url: '/v1/videos',
        headers: { authorization },
      } as never);
      expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    },
  );

  it('a path of nothing is 404', async () => {
    expect((await app.inject('/v2/videos')).json()).toMatchObject({ error: { code: 'no_such_path' } });
  });
});
