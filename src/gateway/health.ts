import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { HealthPart } from '../monitor/health';
import { errorBody, Refusal } from './http-errors';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;
const NOT_READY = `Temporal does not answer within ${READY_WITHIN_MS / 1_000} s.`;

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
      if (!(await temporalAnswers(client))) {
        throw new Refusal({
          status: 503,
          code: 'temporal_unavailable',
          message: NOT_READY,
          retryAfterSeconds: 1,
        });
      }
      return { status: 'ok' };
    },
  );
}

/** The same for the monitor of the process. */
export async function gatewayHealth(client: Client, isClosing: boolean): Promise<HealthPart[]> {
  return [
    (await temporalAnswers(client))
      ? { part: 'temporal', status: 'ok' }
      : { part: 'temporal', status: 'unready', reason: NOT_READY },
    { part: 'gateway', status: isClosing ? 'draining' : 'ok' },
  ];
}

async function temporalAnswers(client: Client): Promise<boolean> {
  const { namespace } = client.options;
  const ask = () => client.workflowService.describeNamespace({ namespace });
  return withDeadline(client, ask, READY_WITHIN_MS).then(
    () => true,
    () => false,
  );
}
