import { ServiceError } from '@temporalio/client';
import { DecisionRefused } from 'temporal-videogen';
import { FAILURES, VideoFailure } from 'temporal-videogen/failures';

export class NoSuchVideo extends Error {}

interface HttpError {
  status: number;
  body: { type: string; message: string; advice?: string; taskId?: string };
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** Errors other than the failure of a video. */
const OTHERS: { is: ErrorClass; status: number; type: string; message?: string }[] = [
  { is: NoSuchVideo, status: 404, type: 'NoSuchVideo' },
  { is: DecisionRefused, status: 409, type: 'DecisionRefused' },
  {
    is: ServiceError,
    status: 503,
    type: 'TemporalUnavailable',
    message: 'Temporal or the worker does not answer. Nothing is lost; try again later.',
  },
];

/** The HTTP answer for an error. Failures of videos have their own status and advice. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof VideoFailure) {
    const { type, message, advice, taskId } = error;
    return { status: FAILURES[type].httpStatus, body: { type, message, advice, taskId } };
  }
  const { message, status = 500 }: { message?: string; status?: number } = Object(error);
  const row = OTHERS.find(({ is }) => error instanceof is);
  if (row) return { status: row.status, body: { type: row.type, message: row.message ?? String(message) } };
  // Express sets a status for a body that it cannot parse.
  if (status < 500) return { status, body: { type: 'InvalidRequest', message: String(message) } };
  console.error(error);
  return {
    status: 500,
    body: { type: 'Unexpected', message: 'An unexpected error occurred; see the log of the service.' },
  };
}
