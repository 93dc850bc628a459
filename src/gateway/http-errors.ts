import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isTemporalError } from '../client/connect';
import { FAILURES } from '../contract/failure-table';
import { DecisionRefused } from '../contract/lost-submit';
import { VideoFailure } from '../contract/video-failure';
import { NotDecrypted } from '../encryption/not-decrypted';
import { StorageFault } from '../storage';
import { errorOf } from './video-object';

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

/** Every code of the gateway's own errors, with its status and its sentence where that is always the same. */
const REFUSALS = {
  aborted: [400, 'The caller went away.'],
  bad_form: [400, 'The form cannot be read, or is cut off.'],
  bad_json: [400, 'The body is not JSON.'],
  bad_payloads: [400, 'The body must be {"payloads": […]} in Temporal\'s JSON, with at most 5000 payloads.'],
  invalid_request: [400, 'The request is wrong.'],
  no_task_id: [400, 'The body must be a JSON object that names a task as task_id, id or data.id.'],
  not_an_image: [400, 'The image is not one.'],
  // The same sentence for a missing, a wrong and a revoked key: a caller learns nothing by trying.
  bad_key: [401, 'The key is missing or wrong: send a key of this gateway as Authorization: Bearer KEY.'],
  cross_site: [
    403,
    'A gateway without keys takes nothing from pages of other sites: name the site in VIDEOGEN_GATEWAY_CORS_ORIGINS.',
  ],
  bad_link: [404, 'The link is wrong or has expired.'],
  no_such_path: [404, 'There is nothing here.'],
  no_such_video: [404, 'There is no such video.'],
  no_video: [404, 'There is no video.'],
  not_in_storage: [404, 'The video is no longer in the storage of this gateway.'],
  not_ready: [404, 'The video is not there yet: poll its status, then try again.'],
  method_not_allowed: [405, 'This path does not take the method.'],
  cannot_delete: [409, 'The storage of this gateway cannot remove videos.'],
  decision_refused: [409, 'The decision comes too late.'],
  idempotency_key_reused: [409, 'This Idempotency-Key was used for another request.'],
  video_deleted: [409, 'The video of this Idempotency-Key was deleted.'],
  body_too_large: [413, 'The body is too large.'],
  field_too_large: [413, 'A text of a form may have 2 MiB.'],
  image_too_large: [413, 'The image is larger than 20 MB.'],
  bad_content_type: [
    415,
    'The Content-Type is missing or not one that this address reads: JSON is application/json.',
  ],
  json_only: [415, 'This path takes JSON, with Content-Type: application/json.'],
  bad_range: [416, 'The video has no such bytes.'],
  wrong_host: [
    421,
    'A gateway without keys answers to localhost only: use that name, set VIDEOGEN_GATEWAY_URL, or make a key with videogen gateway-key NAME.',
  ],
  not_decrypted: [422, 'The payload cannot be decrypted.'],
  too_many: [429, 'This key has used up one of its limits.'],
  content_refused: [
    FAILURES.ContentRefused.httpStatus,
    'The content policy of the service refused the video.',
  ],
  start_unknown: [503, 'Temporal does not answer, and the video may have started.'],
  storage_unavailable: [503, 'The storage of the videos does not answer. Nothing is lost: try again.'],
  temporal_unavailable: [503, 'Temporal does not answer. Nothing is lost: try again.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

interface RefusalFacts {
  message?: string;
  advice?: string | undefined;
  param?: string | undefined;
  retryAfterSeconds?: number;
  /** False for what a client must not repeat by itself. */
  mayRepeat?: false;
}

interface Refused extends RefusalFacts {
  status: number;
  code: string;
  message: string;
}

/** What a caller did wrong, or has to wait for. */
export class HttpRefusal extends Error {
  constructor(readonly refused: Refused) {
    super(refused.message);
  }
}

/** A refusal of the table, with what is particular about this one. */
export function refusal(code: keyof typeof REFUSALS, facts: RefusalFacts = {}): HttpRefusal {
  const [status, message] = REFUSALS[code];
  return new HttpRefusal({
    status,
    code,
    message,
    ...(status === 503 && { retryAfterSeconds: 1 }),
    ...facts,
  });
}

/** A mistake in what a caller sent, and in which field it is. */
export const badField = (param: string | undefined, message: string): HttpRefusal =>
  refusal('invalid_request', { param, message });

/** The first mistake that a schema has found. */
export function badFieldOf({ issues: [issue] }: z.ZodError): HttpRefusal {
  const { path, message } = issue ?? { path: [], message: 'The request is wrong.' };
  const param = path.join('.');
  return param ? badField(param, `${param} ${message}.`) : badField(undefined, message);
}

const TYPES: Record<number, ErrorBody['error']['type']> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
};

function bodyOf({ status, code, message, advice, param }: Refused): ErrorBody {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return { error: { code, message, type, param: param ?? null, ...(advice !== undefined && { advice }) } };
}

/** The answer for an error; undefined for one that is a bug, which the log must have and the caller must not. */
function refusalFor(error: unknown): HttpRefusal | undefined {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof VideoFailure) {
    return new HttpRefusal({ status: FAILURES[error.type].httpStatus, ...errorOf(error) });
  }
  if (error instanceof DecisionRefused) return refusal('decision_refused', { message: error.message });
  if (error instanceof NotDecrypted) return refusal('not_decrypted', { message: error.message });
  if (isTemporalError(error)) return refusal('temporal_unavailable');
  if (error instanceof StorageFault) return refusal('storage_unavailable');
  return error instanceof z.ZodError ? badFieldOf(error) : fromFastify(error);
}

/** The commonest mistakes that fastify finds, in our words. */
const OF_FASTIFY: Readonly<Record<string, [code: keyof typeof REFUSALS, facts?: RefusalFacts]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['bad_content_type', { param: 'Content-Type' }],
  FST_ERR_CTP_INVALID_JSON_BODY: ['bad_json'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['bad_json', { message: 'The body is empty: it must be a JSON object.' }],
  FST_ERR_MAX_PARAM_LENGTH: ['no_such_path'],
  FST_REQ_FILE_TOO_LARGE: ['image_too_large'],
};

/** The reader of forms gives these no status: a missing boundary, and a form that ends too early. */
const FORM_PROBLEM = /^Multipart: Boundary|unexpected end of multipart|^The needle /i;

function fromFastify(error: unknown): HttpRefusal | undefined {
  const { statusCode: status, message, code }: Record<string, unknown> = Object(error);
  // Nobody reads this answer.
  if (code === 'ECONNRESET' && message === 'aborted') return refusal('aborted');
  if (FORM_PROBLEM.test(String(message))) return refusal('bad_form');
  const known = OF_FASTIFY[String(code)];
  if (known) return refusal(...known);
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  return new HttpRefusal({
    status,
    code: String(code ?? 'bad_request').toLowerCase(),
    message: String(message),
  });
}

export type LogError = (request: FastifyRequest, error: unknown) => void;

/** Answers an error. One that is a bug goes to the log, and the caller learns only where to find it. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logError: LogError,
): FastifyReply {
  // The parser of forms throws plain errors, before there is a body.
  const isForm = () => request.isMultipart() && request.body === undefined;
  const known = refusalFor(error) ?? (isForm() ? refusal('bad_form') : undefined);
  // The caller gets one sentence; which file or bucket it was, and why, is for the operator.
  if (known === undefined || error instanceof StorageFault) logError(request, error);
  const refused = known?.refused ?? {
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

/** Answers paths that are not there: 405 with the methods of a path that has others, else 404. */
export function refuseUnknownPaths(app: FastifyInstance): void {
  const routes: { path: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const path = new RegExp(`^${url.replace(/[.]/g, '\\.').replace(/:[^/]+/g, '[^/]+')}$`);
    routes.push({ path, methods: [method].flat() });
  });
  const refuse = ({ url }: FastifyRequest, reply: FastifyReply): never => {
    const [path = ''] = url.split('?');
    const methods = routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods);
    if (methods.length === 0) throw refusal('no_such_path');
    const allow = [...new Set(methods)].sort().join(', ');
    reply.header('allow', allow);
    throw refusal('method_not_allowed', { message: `This path takes ${allow} only.` });
  };
  // Before the body is read: it may be of a type that makes fastify answer with something else.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) refuse(request, reply);
  });
  app.setNotFoundHandler(refuse);
}
