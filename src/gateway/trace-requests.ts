import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseTraceparent } from '../contract/trace-context';
import type { JobTracing, OpenSpan } from '../tracing/job-tracing';

/**
 * Makes a span of each call to the interface, as a part of its caller's trace if it names one. Of the call it has the pattern
 * of the route and our own request id: an address may contain what a caller has mistyped.
 */
export function traceRequests(app: FastifyInstance, tracing: JobTracing): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  app.addHook('onRequest', async (request) => {
    const { method, id: requestId, headers } = request;
    const { url: route } = request.routeOptions;
    if (!route?.startsWith('/v1/')) return;
    const span = tracing.open({
      name: `${method} ${route}`,
      kind: 'server',
      parent: parseTraceparent(headers.traceparent),
      facts: { method, route, requestId },
    });
    spans.set(request, span);
  });
  // Only here, after the body was read: the events of a socket belong to no request.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.within(done);
    else done();
  });
  app.addHook('onResponse', async (request, { statusCode: httpStatus }) => {
    spans.get(request)?.end({ httpStatus }, httpStatus >= 500 ? `HTTP ${httpStatus}` : undefined);
  });
}
