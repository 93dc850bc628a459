import type { FastifyInstance } from 'fastify';
import { closedGateway } from './closed-gateway';

let app: FastifyInstance;
beforeAll(async () => {
  ({ app } = await closedGateway());
});
afterAll(() => app.close());

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

test.each([
  ['the default type of curl', FORM_TYPE, '{"prompt":"A fox"}', 415, 'JSON is application/json.'],
  ['no JSON', JSON_TYPE, '{"prompt":', 400, 'The body is not JSON.'],
  ['nothing', JSON_TYPE, '', 400, 'The body is empty: it must be a JSON object.'],
  ['a field that is mistyped', JSON_TYPE, '{"promt":"A fox"}', 400, 'the fields are prompt, image_url'],
  ['no prompt', JSON_TYPE, '{"seconds":"4"}', 400, 'prompt '],
])('to %s the answer says what to do', async (_what, type, payload, status, sentence) => {
  const headers = { host: 'localhost', 'content-type': type };
  const answer = await app.inject({ method: 'POST', url: '/v1/videos', headers, payload });
  const { code, message } = answer.json().error;
  expect([answer.statusCode, message]).toEqual([status, expect.stringContaining(sentence)]);
  expect(message).not.toMatch(/[?]\.|Invalid input/);
  expect(code).not.toContain('fst_');
});

test('a page of a list that is too long is refused with the limit', async () => {
  const answer = await app.inject({ url: '/v1/videos?limit=1000', headers: { host: 'localhost' } });
  expect([answer.statusCode, answer.json().error]).toMatchObject([
    400,
    { message: 'limit must be a whole number from 1 to 100.', param: 'limit' },
  ]);
});
