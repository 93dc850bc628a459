import {
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
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

export type ErrorBody = z.infer<typeof errorBody>;

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
export class Refusal extends Error {
  constructor(readonly refused: Refused) {
    super(refused.message);
  }
}

/** A mistake in what a caller sent, and in which field it is. */
export function badField(param: string | undefined, message: string): Refusal {
  return new Refusal({
    status: 400,
    code: 'invalid_request',
    message,
    ...(param !== undefined && { param }),
  });
}

export const noSuchVideo = () =>
  new Refusal({ status: 404, code: 'no_such_video', message: 'There is no such video.' });

export const noSuchPath = () =>
  new Refusal({ status: 404, code: 'no_such_path', message: 'There is nothing here.' });

/** The same sentence for a missing, a wrong and a revoked key: a caller learns nothing by trying. */
export const badKey = () =>
  new Refusal({
    status: 401,
    code: 'bad_key',
    message: 'The key is missing or wrong: send a key of this gateway as Authorization: Bearer KEY.',
  });

const TYPES: Record<number, ErrorBody['error']['type']> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

export interface HttpError {
  status: number;
  body: ErrorBody;
  retryAfterSeconds?: number;
  mayRepeat?: false;
}

/** The answer for an error; undefined for one that is a bug, which the log must have and the caller must not. */
export function toHttpError(error: unknown): HttpError | undefined {
  const refused = refusedBy(error);
  return refused && errorJson(refused);
}

export function errorJson(refused: Refused): HttpError {
  const { status, code, message, advice, param = null, retryAfterSeconds, mayRepeat } = refused;
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return {
    status,
    body: { error: { code, message, type, param, ...(advice !== undefined && { advice }) } },
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(mayRepeat === false && { mayRepeat }),
  };
}

/** Temporal did not answer. What it was asked for may have happened. */
export function isUnavailable(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

function refusedBy(error: unknown): Refused | undefined {
  if (error instanceof Refusal) return error.refused;
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
  if (isUnavailable(error)) {
    return {
      status: 503,
      code: 'temporal_unavailable',
      message: 'Temporal does not answer. Nothing is lost: try again.',
      retryAfterSeconds: 1,
    };
  }
  if (error instanceof StorageFault) {
    return {
      status: 503,
      code: 'storage_unavailable',
      message: 'The storage of the videos does not answer. Nothing is lost: try again.',
      retryAfterSeconds: 1,
    };
  }
  return fromFastify(error);
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
