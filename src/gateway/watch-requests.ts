import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type OpenSpan, openSpan } from '../service';
import type { VideoLogger } from '../worker/logger';
import type { LogError } from './http-errors';

// A request is logged, measured and traced by the pattern of its route: an address may contain what a caller has mistyped, such
// as a key.

const EVENTS_ROUTE = '/v1/videos/:id/events';

/** Writes a line for each answer; headers, query and bodies are never in it. */
export function logRequests(app: FastifyInstance, logger: VideoLogger): LogError {
  const about = (request: FastifyRequest) => ({
    requestId: request.id,
    key: request.caller?.name ?? null,
    method: request.method,
    route: request.routeOptions?.url,
  });
  app.addHook('onResponse', async (request, reply) => {
    // A client that left before the end has no answer.
    const isWhole = reply.raw.writableEnded;
    const facts = {
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(!isWhole && { aborted: true }),
    };
    logger.event('request', { ...about(request), ...facts }, reply.statusCode >= 500 ? 'error' : 'info');
  });
  return (request, error) => logger.event('requestFailed', { ...about(request), error });
}

/** The metrics of a gateway. docs/observability.md lists them. */
export function createGatewayMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    requests: new Counter({
      name: 'videogen_gateway_requests_total',
      help: 'Answered requests, by route and HTTP status.',
      labelNames: ['method', 'route', 'status'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'videogen_gateway_request_duration_seconds',
      help: 'Time from a request to the end of its answer, without event streams.',
      labelNames: ['route'] as const,
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    refusals: new Counter({
      name: 'videogen_gateway_refusals_total',
      help: 'Requests answered with an error, by its code.',
      labelNames: ['code'] as const,
      registers,
    }),
    streams: new Gauge({ name: 'videogen_gateway_streams', help: 'Open event streams.', registers }),
  };
}

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

export function measureRequests(app: FastifyInstance, metrics: GatewayMetrics): void {
  app.addHook('onRequest', async ({ routeOptions }, { raw }) => {
    if (routeOptions.url !== EVENTS_ROUTE) return;
    metrics.streams.inc();
    raw.once('close', () => metrics.streams.dec());
  });
  app.addHook('preSerialization', async (_request, { statusCode }, payload: unknown) => {
    const { error }: { error?: { code?: unknown } } = Object(payload);
    if (statusCode >= 400 && typeof error?.code === 'string') metrics.refusals.inc({ code: error.code });
    return payload;
  });
  app.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
    const { url: route = 'none' } = routeOptions;
    metrics.requests.inc({ method, route, status: String(statusCode) });
    if (route !== EVENTS_ROUTE) metrics.seconds.observe({ route }, elapsedTime / 1_000);
  });
}

/** Makes a span of each call to the interface, as a part of its caller's trace if it names one. */
export function traceRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  app.addHook('onRequest', async (request) => {
    const { method, id, headers } = request;
    const { url: route } = request.routeOptions;
    if (!route?.startsWith('/v1/')) return;
    const { traceparent } = headers;
    const span = openSpan({
      name: `${method} ${route}`,
      kind: 'SERVER',
      attributes: { 'http.request.method': method, 'http.route': route, 'videogen.request_id': id },
      ...(typeof traceparent === 'string' && { traceparent }),
    });
    if (span) spans.set(request, span);
  });
  // Only here, after the body was read: the events of a socket belong to no request.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.within(done);
    else done();
  });
  app.addHook('onResponse', async (request, { statusCode }) => {
    spans.get(request)?.end({ 'http.response.status_code': statusCode }, statusCode >= 500);
  });
}
