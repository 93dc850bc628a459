import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { errorBody, Refusal } from './http-errors';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;

const healthy = z.object({ status: z.literal('ok') });
const common = { tags: ['Gateway'], security: [] };

/** `/livez`: the process answers. `/readyz`: Temporal answers it too. Neither needs a key. */
export function serveHealth(app: FastifyInstance, client: Client): void {
  app.get(
    '/livez',
    {
      schema: {
        ...common,
        operationId: 'isLive',
        summary: 'Whether the gateway runs',
        response: { 200: healthy, 431: errorBody },
      },
    },
    async () => ({ status: 'ok' }),
  );
  app.get(
    '/readyz',
    {
      schema: {
        ...common,
        operationId: 'isReady',
        summary: 'Whether the gateway reaches Temporal',
        response: { 200: healthy, 431: errorBody, 503: errorBody },
      },
    },
    async () => {
      try {
        const { namespace } = client.options;
        const ask = () => client.workflowService.describeNamespace({ namespace });
        await withDeadline(client, ask, READY_WITHIN_MS);
      } catch {
        throw new Refusal({
          status: 503,
          code: 'temporal_unavailable',
          message: `Temporal does not answer within ${READY_WITHIN_MS / 1_000} s.`,
          retryAfterSeconds: 1,
        });
      }
      return { status: 'ok' };
    },
  );
}
