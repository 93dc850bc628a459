import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerChecker } from './answer-checker';

/**
 * Holds every answer of every gateway in this process against the document that this gateway serves. Jest loads it for all
 * tests; fastify announces each instance, so that no test can forget it.
 */
const problems: string[] = [];
const checks = new Set<Promise<void>>();

// In a file whose tests are all skipped no hook runs, and nothing would end this.
beforeAll(() => {
  subscribe('fastify.initialization', watch);
});
afterEach(async () => {
  await Promise.all(checks);
  checks.clear();
  expect(problems.splice(0)).toEqual([]);
});
afterAll(() => {
  unsubscribe('fastify.initialization', watch);
});

function watch(message: unknown): void {
  const { fastify: app }: { fastify: FastifyInstance } = Object(message);
  let checker: Promise<AnswerChecker> | undefined;
  const check = async (use: (checker: AnswerChecker) => string[]) => {
    try {
      checker ??= load();
      problems.push(...use(await checker));
    } catch (error) {
      // Thrown here it would change the answer and tell nobody why.
      problems.push(error instanceof Error ? String(error.stack) : String(error));
    }
  };
  const load = async () => {
    await app.ready();
    // Loaded here, because most tests have no gateway.
    const { AnswerChecker }: typeof import('./answer-checker') = require('./answer-checker');
    return new AnswerChecker(app.swagger());
  };

  app.addHook('onRequest', async (request, reply) => watchEvents(request, reply, check));
  app.addHook('onSend', async (request, reply, payload) => {
    // Files of the page are not part of the interface, nor is a path that does not exist.
    if (request.routeOptions.schema?.hide || request.routeOptions.url === undefined) return payload;
    const answer = { ...callOf(request), status: reply.statusCode, headers: reply.getHeaders() };
    await check((loaded) => loaded.problemsWith(answer, textOf(payload)));
    return payload;
  });
}

/** Server-sent events are written past fastify. */
function watchEvents(
  request: FastifyRequest,
  { raw }: FastifyReply,
  check: (use: (checker: AnswerChecker) => string[]) => Promise<void>,
): void {
  const write: (...args: [unknown]) => boolean = raw.write.bind(raw);
  const watched = (...args: [unknown]) => {
    if (String(raw.getHeader('content-type')).startsWith('text/event-stream')) {
      const answer = { ...callOf(request), status: raw.statusCode, headers: raw.getHeaders() };
      checks.add(check((loaded) => loaded.problemsWithEvents(answer, String(args[0]))));
    }
    return write(...args);
  };
  Object.assign(raw, { write: watched });
}

const callOf = ({ method, routeOptions }: FastifyRequest) => ({ method, route: routeOptions.url ?? '' });

/** Undefined for a stream, of which only the headers are checked. */
function textOf(payload: unknown): string | undefined {
  if (payload === undefined || payload === null) return '';
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : undefined;
}
