import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { sendCached } from './cached-answer';
import { errorBody } from './http-errors';
import {
  type Answer,
  type DocumentedAnswer,
  type InterfaceDocument,
  type Operation,
  parseDocument,
} from './interface-document';
import { REFERENCE_POLICY, renderReference } from './reference-page';

declare module 'fastify' {
  interface FastifySchema {
    /** Answers beside those of `response`, by status. */
    answers?: Readonly<Record<number, Answer>>;
    /** HEAD answers the same without the body. */
    answersHead?: boolean;
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

/** The refusals of a route that lists videos. */
export const LIST_ERRORS = { ...ANY, 404: errorBody };

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
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'Always Bearer.' },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};
/** Answered before the request was read, so it has no id yet. */
const WITHOUT_REQUEST_ID = new Set(['408', '431']);

const INTRODUCTION =
  'Videos as durable jobs. POST answers at once with an id, and GET says how far the video is. ' +
  'Send an Idempotency-Key with each POST: then it can be repeated without paying twice.';

export interface DocumentOptions {
  hasKeys: boolean;
  publicUrl: string | undefined;
}

/** Collects the routes that are registered after it, and serves them as `/openapi.json` and `/docs`. */
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
      const { answers, answersHead, ...schema } = Object(route.schema);
      const transformed = jsonSchemaTransform({ ...route, schema });
      // The plugin passes extensions through, and `complete` takes them out again.
      return {
        ...transformed,
        schema: { ...transformed.schema, 'x-answers': answers, 'x-head': answersHead },
      };
    },
    transformObject: (collected) => complete(parseDocument(jsonSchemaTransformObject(collected)), hasKeys),
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
  let reference: string | undefined;
  app.get('/docs', { schema: { hide: true } }, (request, reply) => {
    // Once: the routes do not change any more.
    reference ??= renderReference(parseDocument(app.swagger()));
    const type = 'text/html; charset=utf-8';
    return sendCached(request, reply, { type, content: reference, policy: REFERENCE_POLICY });
  });
}

/** Adds what fastify's plugins do not know: headers, answers without JSON, HEAD, and what depends on the keys. */
function complete(document: InterfaceDocument, hasKeys: boolean): InterfaceDocument {
  for (const operations of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { 'x-answers': answers = {}, 'x-head': answersHead, ...rest } = operation;
      const isPublic = rest.security?.length === 0;
      const responses = { ...rest.responses, ...mapValues(answers, documented) };
      if (!hasKeys && !isPublic) delete responses[401];
      if (!hasKeys) Object.assign(responses, withoutKeys(method));
      const finished = { ...rest, responses: mapEntries(responses, withHeaders) };
      operations[method] = finished;
      if (answersHead) operations.head = headOf(finished);
    }
  }
  return document;
}

function documented({ description, headers = {}, content }: Answer): DocumentedAnswer {
  return { description, headers: headerObjects(headers), ...(content && { content }) };
}

const errorAnswer = (): DocumentedAnswer => ({
  description: '',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

/** See guard-browsers.ts. */
function withoutKeys(method: string): Record<string, DocumentedAnswer> {
  const isUnsafe = method !== 'get' && method !== 'head';
  return { 421: errorAnswer(), ...(isUnsafe && { 403: errorAnswer() }) };
}

function withHeaders(status: string, answer: DocumentedAnswer): DocumentedAnswer {
  const names = {
    ...HEADERS[status],
    ...(!WITHOUT_REQUEST_ID.has(status) && {
      'X-Request-Id': 'The id of this call in the log of the gateway.',
    }),
  };
  const isUndescribed = answer.description === '' || answer.description === 'Default Response';
  return {
    ...answer,
    description: isUndescribed ? (DESCRIPTIONS[status] ?? 'See the body.') : answer.description,
    headers: { ...answer.headers, ...headerObjects(names) },
  };
}

function headOf({ operationId, summary, responses, ...rest }: Operation): Operation {
  return {
    ...rest,
    operationId: `${operationId}Head`,
    summary: `${summary}, without the body`,
    responses: mapValues(responses, ({ content: _content, ...answer }) => answer),
  };
}

function headerObjects(descriptions: Readonly<Record<string, string>>): Record<string, object> {
  return mapValues(descriptions, (description) => ({ description, schema: { type: 'string' } }));
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

function mapEntries<A, B>(
  record: Readonly<Record<string, A>>,
  change: (name: string, value: A) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(name, value)]));
}
