import { Client, Connection } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { createVideoClient } from '../../src/client/video-client';
import { buildGateway, type GatewayTools } from '../../src/gateway/gateway';
import { callsSettled } from '../../src/gateway/temporal-deadline';
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
