import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VideoLogger } from '../logging/create-logger';
import type { CallerOf } from './caller';
import type { LogError } from './send-error';

export interface RequestLogOptions {
  callerOf: CallerOf;
  /** `errors` leaves out the lines about answers below 500. */
  lines: 'requests' | 'errors';
  logger: VideoLogger;
}

/**
 * Writes a line for each answer. The line has the pattern of the route, because an address may contain what a caller
 * has mistyped, such as a key; headers, query and bodies are never in it.
 */
export function logRequests(app: FastifyInstance, { callerOf, lines, logger }: RequestLogOptions): LogError {
  const about = (request: FastifyRequest) => ({
    requestId: request.id,
    key: nameOf(request, callerOf),
    method: request.method,
    route: request.routeOptions?.url,
  });
  app.addHook('onResponse', async (request, reply) => {
    const level = reply.statusCode >= 500 ? 'error' : 'info';
    if (level === 'info' && lines === 'errors') return;
    // A client that left before the end has no answer.
    const isWhole = reply.raw.writableEnded;
    const facts = {
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(!isWhole && { aborted: true }),
    };
    logger.event('request', { ...about(request), ...facts }, level);
  });
  return (request, error) => logger.event('requestFailed', { ...about(request), error });
}

function nameOf(request: FastifyRequest, callerOf: CallerOf): string | null {
  try {
    return callerOf(request);
  } catch {
    return null;
  }
}
