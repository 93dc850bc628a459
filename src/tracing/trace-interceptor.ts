import type { WorkflowClientInterceptor } from '@temporalio/client';
import { clientInterceptor } from './client-interceptor';
import { openTracing } from './open-tracing';

/**
 * For a Temporal client of your own: the jobs and batches that it starts belong to the trace of the active span. Without
 * OpenTelemetry in the program it does nothing.
 *
 * @example
 * ```ts
 * const client = new Client({ connection, interceptors: { workflow: [createTraceInterceptor()] } });
 * const videos = await createVideoClient({ client });
 * ```
 */
export function createTraceInterceptor(): WorkflowClientInterceptor {
  const tracing = openTracing();
  return tracing ? clientInterceptor(tracing) : {};
}
