import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { HealthPart } from '../worker/monitor';
import { refusal } from './http-errors';
import { described } from './openapi';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;
const NOT_READY = `Temporal does not answer within ${READY_WITHIN_MS / 1_000} s.`;

const ok = { status: 'ok' as const };
const open = { security: [], response: { 200: z.object({ status: z.literal('ok') }) } };

/** `/livez`: the process answers. `/readyz`: Temporal answers it too. Both work without a key. */
export function serveHealth(app: FastifyInstance, client: Client): void {
  app.get('/livez', described('Gateway', 'isLive', 'Whether the gateway runs', open), async () => ok);
  app.get(
    '/readyz',
    described('Gateway', 'isReady', 'Whether the gateway reaches Temporal', open),
    async () => {
      if (await temporalAnswers(client)) return ok;
      throw refusal('temporal_unavailable', { message: NOT_READY });
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
