import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isStored, type VideoStorage } from '../storage';
import type { HealthPart } from '../worker/monitor';
import { refusal } from './http-errors';
import { described } from './openapi';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;
const answersNot = (what: string) => `${what} does not answer within ${READY_WITHIN_MS / 1_000} s.`;
/** Nothing is ever there. */
const PROBED_KEY = 'gateway/ready.json';

const ok = { status: 'ok' as const };
const open = { security: [], response: { 200: z.object({ status: z.literal('ok') }) } };

/** What a gateway needs to be ready. */
export interface HealthTools {
  client: Client;
  storage: VideoStorage;
}

/** `/livez`: the process answers. `/readyz`: Temporal and the storage answer it too. Both work without a key. */
export function serveHealth(app: FastifyInstance, tools: HealthTools): void {
  app.get('/livez', described('Gateway', 'isLive', 'Whether the gateway runs', open), async () => ok);
  app.get(
    '/readyz',
    described('Gateway', 'isReady', 'Whether the gateway reaches Temporal and the storage', open),
    async () => {
      const [temporal, storage] = await backendsOf(tools);
      if (!temporal) throw refusal('temporal_unavailable', { message: answersNot('Temporal') });
      if (!storage) throw refusal('storage_unavailable', { message: answersNot('The storage') });
      return ok;
    },
  );
}

/** The same for the monitor of the process. */
export async function gatewayHealth(tools: HealthTools, isClosing: boolean): Promise<HealthPart[]> {
  const [temporal, storage] = await backendsOf(tools);
  return [
    temporal
      ? { part: 'temporal', status: 'ok' }
      : { part: 'temporal', status: 'unready', reason: answersNot('Temporal') },
    storage
      ? { part: 'storage', status: 'ok' }
      : { part: 'storage', status: 'unready', reason: answersNot('The storage') },
    { part: 'gateway', status: isClosing ? 'draining' : 'ok' },
  ];
}

/** Whether Temporal and the storage answer. */
async function backendsOf({ client, storage }: HealthTools): Promise<boolean[]> {
  const { namespace } = client.options;
  const askTemporal = () => client.workflowService.describeNamespace({ namespace });
  const answers = await Promise.allSettled([
    withDeadline(client, askTemporal, READY_WITHIN_MS),
    isStored(storage, PROBED_KEY, READY_WITHIN_MS),
  ]);
  return answers.map(({ status }) => status === 'fulfilled');
}
