import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CallerOf } from './caller';
import type { LogError } from './send-error';

export interface LogOptions {
  callerOf: CallerOf;
  /** `errors` leaves out the lines about answers below 500. */
  lines: 'requests' | 'errors';
  log: (line: string) => void;
}

/**
 * Writes a JSON line for each answer. The line has the pattern of the route, because an address may contain what a caller
 * has mistyped, such as a key; headers, query and bodies are never in it.
 */
export function logRequests(app: FastifyInstance, { callerOf, lines, log }: LogOptions): LogError {
  const write = (level: 'info' | 'error', request: FastifyRequest, rest: object) =>
    log(
      JSON.stringify({
        time: new Date().toISOString(),
        level,
        request_id: request.id,
        key: nameOf(request, callerOf),
        method: request.method,
        route: request.routeOptions?.url ?? null,
        ...rest,
      }),
    );
  app.addHook('onResponse', async (request, reply) => {
    const level = reply.statusCode >= 500 ? 'error' : 'info';
    if (level === 'info' && lines === 'errors') return;
    // A client that left before the end has no answer.
    const isWhole = reply.raw.writableEnded;
    write(level, request, {
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(!isWhole && { aborted: true }),
    });
  });
  return (request, error) =>
    write('error', request, {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
}

function nameOf(request: FastifyRequest, callerOf: CallerOf): string | null {
  try {
    return callerOf(request);
  } catch {
    return null;
  }
}
