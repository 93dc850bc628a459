import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isStored, type VideoStorage } from '../storage';
import type { HealthPart } from '../worker/monitor';
import { refusal } from './http-errors';
import { described } from './openapi';
import { withDeadline } from './temporal-deadline';

const READY_WITHIN_MS = 2_000;
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
      const problem = (await gatewayHealth(tools, false)).find(({ status }) => status !== 'ok');
      if (problem === undefined) return ok;
      const code = problem.part === 'storage' ? 'storage_unavailable' : 'temporal_unavailable';
      throw refusal(code, { message: problem.reason });
    },
  );
}

/** The same for the monitor of the process. */
export async function gatewayHealth(
  { client, storage }: HealthTools,
  isClosing: boolean,
): Promise<HealthPart[]> {
  const { namespace } = client.options;
  const askTemporal = () => client.workflowService.describeNamespace({ namespace });
  const parts = await Promise.all([
    healthOf('temporal', 'Temporal', withDeadline(client, askTemporal, READY_WITHIN_MS)),
    healthOf('storage', 'The storage', isStored(storage, PROBED_KEY, READY_WITHIN_MS)),
  ]);
  return [...parts, { part: 'gateway', status: isClosing ? 'draining' : 'ok' }];
}

async function healthOf(
  part: HealthPart['part'],
  name: string,
  answer: Promise<unknown>,
): Promise<HealthPart> {
  const reason = `${name} does not answer within ${READY_WITHIN_MS / 1_000} s.`;
  return answer.then(
    () => ({ part, status: 'ok' }),
    () => ({ part, status: 'unready', reason }),
  );
}
