import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import {
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FAILURES } from '../contract/failure-table';
import { DecisionRefused } from '../contract/lost-submit';
import { describeEvent, VideoFailure } from '../contract/video-failure';
import { StorageFault } from '../storage';

/** The body of every error, as the service's clients and OpenAI's read it. */
export const errorBody = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      /** OpenAI's clients expect it. */
      type: z.enum(['invalid_request_error', 'authentication_error', 'rate_limit_error', 'server_error']),
      param: z.string().nullable().describe('The field that is wrong, if it is one.'),
      advice: z.string().optional(),
    }),
  })
  .meta({
    id: 'Error',
    examples: [
      {
        error: {
          code: 'invalid_request',
          message: 'duration must be at most 10 (was 12).',
          type: 'invalid_request_error',
          param: 'duration',
        },
      },
    ],
  });

type ErrorBody = z.infer<typeof errorBody>;

export interface Refused {
  status: number;
  code: string;
  message: string;
  advice?: string;
  param?: string;
  retryAfterSeconds?: number;
  /** False for what a client must not repeat by itself. */
  mayRepeat?: false;
}

/** What a caller did wrong, or has to wait for. */
export class HttpRefusal extends Error {
  constructor(readonly refused: Refused) {
    super(refused.message);
  }
}

/** A mistake in what a caller sent, and in which field it is. */
export function badField(param: string | undefined, message: string): HttpRefusal {
  return new HttpRefusal({
    status: 400,
    code: 'invalid_request',
    message,
    ...(param !== undefined && { param }),
  });
}

export const noSuchVideo = () =>
  new HttpRefusal({ status: 404, code: 'no_such_video', message: 'There is no such video.' });

export const noSuchPath = () =>
  new HttpRefusal({ status: 404, code: 'no_such_path', message: 'There is nothing here.' });

export const bodyTooLarge = () =>
  new HttpRefusal({ status: 413, code: 'body_too_large', message: 'The body is too large.' });

/** The same sentence for a missing, a wrong and a revoked key: a caller learns nothing by trying. */
export const badKey = () =>
  new HttpRefusal({
    status: 401,
    code: 'bad_key',
    message: 'The key is missing or wrong: send a key of this gateway as Authorization: Bearer KEY.',
  });

const TYPES: Record<number, ErrorBody['error']['type']> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

function bodyOf({ status, code, message, advice, param }: Refused): ErrorBody {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type, param: param ?? null, ...(advice !== undefined && { advice }) } };
}

/** Temporal did not answer. What it was asked for may have happened. */
export function isUnavailable(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

const unavailable = (code: string, who: string): Refused => ({
  status: 503,
  code,
  message: `${who} does not answer. Nothing is lost: try again.`,
  retryAfterSeconds: 1,
});

/** The answer for an error; undefined for one that is a bug, which the log must have and the caller must not. */
function refusedBy(error: unknown): Refused | undefined {
  if (error instanceof HttpRefusal) return error.refused;
  if (error instanceof VideoFailure) {
    const { type, details, advice } = error;
    return {
      status: FAILURES[type].httpStatus,
      code: type,
      message: describeEvent(type, details),
      advice,
      ...(details.field !== undefined && { param: details.field }),
    };
  }
  if (error instanceof DecisionRefused)
    return { status: 409, code: 'decision_refused', message: error.message };
  if (isUnavailable(error)) return unavailable('temporal_unavailable', 'Temporal');
  if (error instanceof StorageFault) return unavailable('storage_unavailable', 'The storage of the videos');
  return error instanceof z.ZodError ? fromZod(error) : fromFastify(error);
}

function fromZod({ issues }: z.ZodError): Refused {
  const { path, message } = issues[0] ?? { path: [], message: 'is wrong' };
  const param = path.join('.');
  return badField(param || undefined, param ? `${param}: ${message}` : message).refused;
}

/** The reader of forms gives these no status: a missing boundary, and a form that ends too early. */
const FORM_PROBLEM = /^Multipart: Boundary|unexpected end of multipart|^The needle /i;

/** Statuses of fastify and its plugins that mean something else in HTTP, or that nobody expects. */
const STATUSES: Readonly<Record<number, number>> = { 406: 415, 414: 404 };

const badJson = (message: string): Refused => ({ status: 400, code: 'bad_json', message });

/** The commonest mistakes, in our words. */
const FASTIFY_REFUSALS: Readonly<Record<string, Refused>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'bad_content_type',
    message: 'The Content-Type is missing or not one that this address reads: JSON is application/json.',
    param: 'Content-Type',
  },
  FST_ERR_CTP_INVALID_JSON_BODY: badJson('The body is not JSON.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: badJson('The body is empty: it must be a JSON object.'),
  FST_REQ_FILE_TOO_LARGE: { status: 413, code: 'image_too_large', message: 'The file is too large.' },
};

/** A body that is too large or cannot be parsed. */
function fromFastify(error: unknown): Refused | undefined {
  const { statusCode, message, code }: { statusCode?: unknown; message?: unknown; code?: unknown } =
    Object(error);
  // Nobody reads this answer.
  if (code === 'ECONNRESET' && message === 'aborted')
    return { status: 400, code: 'aborted', message: 'The caller went away.' };
  if (FORM_PROBLEM.test(String(message)))
    return { status: 400, code: 'bad_form', message: `The form cannot be read: ${message}.` };
  const known = FASTIFY_REFUSALS[String(code)];
  if (known) return known;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined;
  return {
    status: STATUSES[statusCode] ?? statusCode,
    code: String(code ?? 'bad_request').toLowerCase(),
    message: String(message),
  };
}

export type LogError = (request: FastifyRequest, error: unknown) => void;

/** Answers an error. One that is a bug goes to the log, and the caller learns only where to find it. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logError: LogError,
): FastifyReply {
  const known = refusedBy(error) ?? badForm(request);
  // The caller gets one sentence; which file or bucket it was, and why, is for the operator.
  if (known === undefined || error instanceof StorageFault) logError(request, error);
  const refused = known ?? {
    status: 500,
    code: 'unexpected',
    message: `Something unexpected happened: the log of the gateway has it under ${request.id}.`,
  };
  const { status, retryAfterSeconds, mayRepeat } = refused;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  // OpenAI's clients obey it.
  if (mayRepeat === false) reply.header('x-should-retry', 'false');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).type('application/json; charset=utf-8').send(bodyOf(refused));
}

/** The parser of forms throws plain errors, before there is a body. */
function badForm(request: FastifyRequest): Refused | undefined {
  if (!request.isMultipart() || request.body !== undefined) return undefined;
  return { status: 400, code: 'bad_form', message: 'The form cannot be read, or is cut off.' };
}

const CLIENT_ERRORS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
};

/** Answers what is not HTTP, or comes too slowly. There is no request yet, so the answer is written by hand. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, message } = CLIENT_ERRORS[error.code ?? ''] ?? {
    status: 400,
    message: 'This is not HTTP.',
  };
  const body = JSON.stringify(bodyOf({ status, code: 'bad_http', message }));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Answers paths that are not there: 405 with the methods of a path that has others, else 404. */
export function refuseUnknownPaths(app: FastifyInstance): void {
  const routes: { path: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const path = new RegExp(`^${url.replace(/[.]/g, '\\.').replace(/:[^/]+/g, '[^/]+')}$`);
    routes.push({ path, methods: [method].flat() });
  });
  const refuse = ({ url }: FastifyRequest, reply: FastifyReply): never => {
    const [path = ''] = url.split('?');
    const methods = new Set(
      routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods),
    );
    if (methods.size === 0) throw noSuchPath();
    const allow = [...methods].sort().join(', ');
    reply.header('allow', allow);
    throw new HttpRefusal({
      status: 405,
      code: 'method_not_allowed',
      message: `This path takes ${allow} only.`,
    });
  };
  // Before the body is read: it may be of a type that makes fastify answer with something else.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) refuse(request, reply);
  });
  app.setNotFoundHandler(refuse);
}
