import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type OpenSpan, openSpan } from '../tracing/spans';

/**
 * Makes a span of each call to the interface, as a part of its caller's trace if it names one. Of the call it has the pattern
 * of the route and our own request id: an address may contain what a caller has mistyped.
 */
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
