import type { Payload } from '@temporalio/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import type { EncryptionCodec } from '../encryption/encryption-codec';
import type { VideoLogger } from '../worker/logger';
import { ANYBODY, callerOf, keyIn } from './authenticate';
import type { GatewayKey, GatewayKeys } from './gateway-keys';
import { refusal } from './http-errors';

/** A page of a history. Temporal's own payloads have at most 2 MiB, and base64 adds a third. */
const LARGEST_CODEC_BYTES = 16 * 1024 * 1024;
const MOST_PAYLOADS = 5_000;

export interface CodecTools {
  codec: EncryptionCodec;
  /** Undefined for a gateway without keys, which only this machine can reach. */
  keys: GatewayKeys | undefined;
  /** The names of the keys that may decrypt. A key that starts jobs must not read those of others. */
  readers: readonly string[];
  logger: VideoLogger;
}

/** The routes, relative to the address that the UI is given. */
export const CODEC_PATH = '/codec';

/** Protobuf's JSON: bytes are base64, in either alphabet. */
const bytes = z.string().transform((text) => Buffer.from(text, 'base64'));
const bodySchema = z.object({
  payloads: z
    .array(
      z.object({
        metadata: z.record(z.string(), bytes).nullish(),
        data: bytes.nullish(),
      }),
    )
    .max(MOST_PAYLOADS),
});

/**
 * Decrypts payloads for the Temporal UI and the `temporal` command, by Temporal's protocol for codec servers. The UI can send
 * no key of ours in a header, so its address may contain one.
 */
export async function serveCodec(app: FastifyInstance, tools: CodecTools): Promise<void> {
  await app.register(async (scope) => {
    // Before the body is read.
    scope.addHook('onRequest', async (request) => {
      request.caller = readerOf(request, tools);
    });
    for (const base of [CODEC_PATH, `${CODEC_PATH}/:key`]) {
      for (const operation of ['decode', 'encode'] as const) {
        const options = { bodyLimit: LARGEST_CODEC_BYTES, schema: { hide: true } };
        scope.post(`${base}/${operation}`, options, async (request) => {
          const { data } = bodySchema.safeParse(request.body);
          if (data === undefined) throw refusal('bad_payloads');
          const given: Payload[] = data.payloads;
          const payloads = await tools.codec[operation](given);
          tools.logger.event('codecUsed', {
            requestId: request.id,
            key: callerOf(request).name,
            operation,
            count: given.length,
            namespace: cleanText(String(request.headers['x-namespace'] ?? ''), LONGEST_NAMESPACE_CHARS),
          });
          return { payloads: payloads.map(inJson) };
        });
      }
    }
  });
}

const LONGEST_NAMESPACE_CHARS = 255;

/** The key must be one of those that may decrypt. The refusal is the same for every other. */
function readerOf(request: FastifyRequest, { keys, readers }: CodecTools): GatewayKey {
  if (keys === undefined) return ANYBODY;
  const { key = keyIn(request) }: { key?: string } = Object(request.params);
  const reader = keys.find(key);
  if (reader === undefined || !readers.includes(reader.name)) throw refusal('bad_key');
  return reader;
}

function inJson({ metadata, data }: Payload): object {
  const base64 = (value: Uint8Array) => Buffer.from(value).toString('base64');
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]),
    ),
    ...(data && { data: base64(data) }),
  };
}
