import type { FastifyInstance } from 'fastify';
import type { MetricRegistry } from '../monitor/registry';

const EVENTS_ROUTE = '/v1/videos/:id/events';

/** Measures each answer by the pattern of its route: an address may contain what a caller has mistyped, such as a key. */
export function measureRequests(app: FastifyInstance, metrics: MetricRegistry): void {
  app.addHook('onRequest', async ({ routeOptions }, { raw }) => {
    if (routeOptions.url !== EVENTS_ROUTE) return;
    metrics.add('videogen_gateway_streams');
    raw.once('close', () => metrics.add('videogen_gateway_streams', {}, -1));
  });
  app.addHook('preSerialization', async (_request, { statusCode }, payload: unknown) => {
    const { error }: { error?: { code?: unknown } } = Object(payload);
    if (statusCode >= 400 && typeof error?.code === 'string')
      metrics.add('videogen_gateway_refusals_total', { code: error.code });
    return payload;
  });
  app.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
    const { url: route = 'none' } = routeOptions;
    metrics.add('videogen_gateway_requests_total', { method, route, status: String(statusCode) });
    if (route !== EVENTS_ROUTE)
      metrics.observe('videogen_gateway_request_duration_seconds', { route }, elapsedTime / 1_000);
  });
}
