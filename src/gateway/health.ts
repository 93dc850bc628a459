import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { HealthPart } from '../worker/monitor';
import { refusal } from './http-errors';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;
const NOT_READY = `Temporal does not answer within ${READY_WITHIN_MS / 1_000} s.`;

const common = { tags: ['Gateway'], security: [] };
const response = { 200: z.object({ status: z.literal('ok') }) };

/** `/livez`: the process answers. `/readyz`: Temporal answers it too. Both work without a key. */
export function serveHealth(app: FastifyInstance, client: Client): void {
  const live = { ...common, operationId: 'isLive', summary: 'Whether the gateway runs', response };
  app.get('/livez', { schema: live }, async () => ({ status: 'ok' }));
  const ready = {
    ...common,
    operationId: 'isReady',
    summary: 'Whether the gateway reaches Temporal',
    response,
  };
  app.get('/readyz', { schema: ready }, async () => {
    if (await temporalAnswers(client)) return { status: 'ok' };
    throw refusal('temporal_unavailable', { message: NOT_READY });
  });
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
