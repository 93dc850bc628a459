import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { StorageFault } from '../storage';
import { errorJson, type HttpError, toHttpError } from './http-errors';

export type LogError = (request: FastifyRequest, error: unknown) => void;

/** Answers an error. One that is a bug goes to the log, and the caller learns only where to find it. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logError: LogError,
): FastifyReply {
  // The caller gets one sentence; which file or bucket it was, and why, is for the operator.
  if (error instanceof StorageFault) logError(request, error);
  const { status, body, retryAfterSeconds, mayRepeat } =
    knownError(error) ?? badForm(request) ?? unexpected(error, request, logError);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  // OpenAI's clients obey it.
  if (mayRepeat === false) reply.header('x-should-retry', 'false');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(status).type('application/json; charset=utf-8').send(body);
}

function knownError(error: unknown): HttpError | undefined {
  if (!(error instanceof z.ZodError)) return toHttpError(error);
  const { path, message } = error.issues[0] ?? { path: [], message: 'is wrong' };
  const param = path.join('.') || undefined;
  return errorJson({
    status: 400,
    code: 'invalid_request',
    message: param === undefined ? message : `${param}: ${message}`,
    ...(param !== undefined && { param }),
  });
}

/** The parser of forms throws plain errors, before there is a body. */
function badForm(request: FastifyRequest): HttpError | undefined {
  if (!request.isMultipart() || request.body !== undefined) return undefined;
  return errorJson({ status: 400, code: 'bad_form', message: 'The form cannot be read, or is cut off.' });
}

function unexpected(error: unknown, request: FastifyRequest, logError: LogError): HttpError {
  logError(request, error);
  return errorJson({
    status: 500,
    code: 'unexpected',
    message: `Something unexpected happened: the log of the gateway has it under ${request.id}.`,
  });
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
  const body = JSON.stringify(errorJson({ status, code: 'bad_http', message }).body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
