import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorBody } from './http-errors';

/** An answer that is not JSON: a video, a stream, or no body at all. */
export interface Answer {
  description: string;
  /** What each header says, by its name. */
  headers?: Readonly<Record<string, string>>;
  content?: Record<string, { schema: Record<string, unknown> }>;
}

declare module 'fastify' {
  interface FastifySchema {
    /** Answers besides those of `response`, by status. */
    answers?: Readonly<Record<number, Answer>>;
  }
}

/** What any call with a key may be refused with. */
const ANY = {
  400: errorBody,
  401: errorBody,
  429: errorBody,
  431: errorBody,
  500: errorBody,
  503: errorBody,
};

/** The refusals of a route that names a video. */
export const ONE_JOB_ERRORS = { ...ANY, 404: errorBody };

/** The refusals of a route that takes a body. */
export const BODY_ERRORS = { ...ANY, 408: errorBody, 409: errorBody, 413: errorBody, 415: errorBody };

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  200: 'Success.',
  400: 'The request is wrong. `param` names the field.',
  401: 'The key is missing or wrong.',
  403: 'A page of another site has sent this. Only a gateway without keys answers so.',
  404: 'There is no such video, or it belongs to another key.',
  408: 'The request did not arrive in time.',
  409: 'It contradicts what was done before, such as an Idempotency-Key that was used for another request.',
  413: 'The body is too large.',
  415: 'The gateway does not read bodies of this type.',
  421: 'The Host header names another server. Only a gateway without keys answers so.',
  429: 'The key has used up one of its limits.',
  431: 'The headers are too large.',
  451: 'The content policy of the service refused the request or the video. There is no video, and none comes.',
  500: 'Something unexpected happened. The log of the gateway has it under the id in X-Request-Id.',
  503: 'Temporal or the storage does not answer. Nothing is lost: try again.',
};

const RETRY_AFTER = { 'Retry-After': 'Seconds to wait before the next attempt.' };
const REQUEST_ID = { 'X-Request-Id': 'The id of this call in the log of the gateway.' };
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  401: { ...REQUEST_ID, 'WWW-Authenticate': 'Always Bearer.' },
  // Answered before the request was read, so it has no id yet.
  408: {},
  429: { ...REQUEST_ID, ...RETRY_AFTER },
  431: {},
  503: { ...REQUEST_ID, ...RETRY_AFTER },
};

const INTRODUCTION =
  'Videos as durable jobs. POST answers at once with an id, and GET says how far the video is. ' +
  'Send an Idempotency-Key with each POST: then it can be repeated without paying twice.';

export interface DocumentOptions {
  hasKeys: boolean;
  publicUrl: string | undefined;
}

/** Collects the routes that are registered after it, and serves them as `/openapi.json`. */
export async function describeInterface(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  const { hasKeys, publicUrl } = options;
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'temporal-videogen gateway', version: '1', description: INTRODUCTION },
      ...(publicUrl !== undefined && { servers: [{ url: publicUrl }] }),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key of this gateway.' },
        },
      },
      security: hasKeys ? [{ key: [] }] : [],
    },
    transform: (route) => {
      const { answers = {}, ...schema } = Object(route.schema);
      const { schema: converted, url } = jsonSchemaTransform({ ...route, schema });
      const { response, ...rest } = Object(converted);
      if (response === undefined) return { schema: converted, url };
      const documented = { ...jsonAnswers(response, [route.route.method].flat(), hasKeys), ...answers };
      return { url, schema: { ...rest, response: withHeaders(documented) } };
    },
    transformObject: jsonSchemaTransformObject,
  });
  app.get(
    '/openapi.json',
    {
      schema: {
        operationId: 'getDocument',
        summary: 'This document',
        tags: ['Gateway'],
        security: [],
        response: { 200: z.looseObject({ openapi: z.string() }), 431: errorBody },
      },
    },
    async () => app.swagger(),
  );
}

const ERROR = { $ref: '#/components/schemas/Error' };

/** Without keys a call needs none, and guard-browsers.ts refuses other hosts and sites. */
function jsonAnswers(
  response: Readonly<Record<string, Record<string, unknown>>>,
  methods: readonly string[],
  hasKeys: boolean,
): Record<string, Answer> {
  const { 401: badKey, ...others } = response;
  const isUnsafe = !methods.includes('GET');
  const schemas = hasKeys ? response : { ...others, 421: ERROR, ...(isUnsafe && { 403: ERROR }) };
  return Object.fromEntries(
    Object.entries(schemas).map(([status, schema]) => [
      status,
      {
        description: DESCRIPTIONS[status] ?? 'See the body.',
        content: { 'application/json': { schema } },
      },
    ]),
  );
}

/** As fastify's plugin reads them; `null` is the type of an answer without a body. */
function withHeaders(answers: Readonly<Record<string, Answer>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content, headers }]) => {
      const names = { ...(HEADERS[status] ?? REQUEST_ID), ...headers };
      const described = Object.entries(names).map(([name, meaning]) => [
        name,
        { type: 'string', description: meaning },
      ]);
      return [
        status,
        {
          description,
          headers: Object.fromEntries(described),
          ...(content ? { content } : { type: 'null' }),
        },
      ];
    }),
  );
}
