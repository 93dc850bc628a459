import { Client, Connection } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { createVideoClient } from '../../src/client/video-client';
import type { JobOptions } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import { buildGateway, type GatewayTools } from '../../src/gateway/gateway';
import type { GatewayKeys, KeyLimits } from '../../src/gateway/gateway-keys';
import { refusal } from '../../src/gateway/http-errors';
import { callsSettled } from '../../src/gateway/temporal-deadline';
import { type Asked, REQUEST_MEMO } from '../../src/gateway/video-object';
import { createFileStorage } from '../../src/storage';
import { createLogger } from '../../src/worker/logger';

/** A gateway in front of a Temporal that does not answer: all that it refuses, it refuses by itself. */
export async function closedGateway(
  tools: Partial<GatewayTools> = {},
  address = '127.0.0.1:1',
): Promise<{ app: FastifyInstance; lines: string[] }> {
  const lines: string[] = [];
  const client = new Client({ connection: Connection.lazy({ address }) });
  const app = await buildGateway({
    client,
    videos: await createVideoClient({ env: {}, client }),
    storage: createFileStorage('/nowhere'),
    keys: undefined,
    requestFields: [],
    publicUrl: undefined,
    temporalUiUrl: undefined,
    hookSecret: undefined,
    corsOrigins: [],
    logger: createLogger({ level: 'info', format: 'json', write: (line) => lines.push(line) }),
    ...tools,
  });
  app.addHook('onClose', async () => {
    await callsSettled(client);
    await client.connection.close();
  });
  return { app, lines };
}

/** In place of Temporal: it answers calls about workflows as the test says. */
export function temporalWith(workflow: object, workflowService: object = {}): never {
  return {
    options: { namespace: 'default' },
    withDeadline: (_deadlineMs: number, work: () => unknown) => work(),
    workflow,
    workflowService,
  } as never;
}

/** In place of the client of jobs: it notes what a POST would start, and refuses it, which is the end of the POST. */
export function startsNothing() {
  const asked: { request: VideoRequest; options: JobOptions; shown: Asked }[] = [];
  const start = async (
    { request, ...options }: JobOptions & { request: VideoRequest },
    { temporal }: { temporal: { memo: Record<typeof REQUEST_MEMO, Asked> } },
  ) => {
    asked.push({ request, options, shown: temporal.memo[REQUEST_MEMO] });
    throw refusal('decision_refused');
  };
  return { asked, videos: { start } as never };
}

/** Keys whose callers have their names, with the limits of some. */
export const keysNamed = (limits: Readonly<Record<string, KeyLimits>> = {}): GatewayKeys => ({
  find: (name) => (name === '' ? undefined : { name, sha256: '', limits: limits[name] ?? {} }),
  named: (name) => [{ name, sha256: '', limits: limits[name] ?? {} }],
});
