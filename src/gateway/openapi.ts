import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';

/** An answer that is not JSON: a video, a stream, or no body at all, whose type is `null`. */
type Answer = { description: string } & ({ content: Record<string, { schema: object }> } | { type: 'null' });

declare module 'fastify' {
  interface FastifySchema {
    /** Answers besides those of `response`, by status. */
    answers?: Readonly<Record<number, Answer>>;
  }
}

/** What the document says of a route. */
export const described = <S extends FastifySchema>(
  tag: 'Videos' | 'Images' | 'Webhooks' | 'Gateway',
  operationId: string,
  summary: string,
  schema: S,
) => ({ schema: { tags: [tag], operationId, summary, ...schema } });

const ANY_ERROR = {
  description: 'An error. Its code says what is wrong; X-Request-Id finds it in the log of the gateway.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
};

const INTRODUCTION =
  'Videos as durable jobs. POST answers at once with an id, and GET says how far the video is. ' +
  'Send an Idempotency-Key with each POST: then it can be repeated without paying twice.';
const WITH_KEYS = ' Send your key with each call, as Authorization: Bearer KEY.';

/** Collects the routes that are registered after it, and serves them as `/openapi.json`. */
export async function describeInterface(
  app: FastifyInstance,
  { hasKeys, publicUrl }: { hasKeys: boolean; publicUrl: string | undefined },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'temporal-videogen gateway',
        version: '1',
        description: `${INTRODUCTION}${hasKeys ? WITH_KEYS : ''}`,
      },
      ...(publicUrl !== undefined && { servers: [{ url: publicUrl }] }),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key of this gateway.' },
        },
      },
      security: hasKeys ? [{ key: [] }] : [],
    },
    transform: (route) => {
      const { answers, ...schema } = Object(route.schema);
      const { schema: converted, url } = jsonSchemaTransform({ ...route, schema });
      const { response, ...rest } = Object(converted);
      return { url, schema: { ...rest, response: { ...response, ...answers, default: ANY_ERROR } } };
    },
    transformObject: jsonSchemaTransformObject,
  });
  let document: Buffer | undefined;
  app.get(
    '/openapi.json',
    described('Gateway', 'getDocument', 'This document', {
      security: [],
      response: { 200: z.looseObject({ openapi: z.string() }) },
    }),
    (_request, reply) => {
      // One for all: many slow readers share its bytes.
      document ??= Buffer.from(JSON.stringify(app.swagger()));
      return reply.type('application/json; charset=utf-8').send(document);
    },
  );
}
