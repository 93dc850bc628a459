import { ServiceError } from '@temporalio/client';
import { DecisionRefused, FAILURES, VideoFailure } from 'temporal-videogen';

export class NoSuchVideo extends Error {}

interface ToldError {
  status: number;
  body: { type: string; message: string; advice?: string; taskId?: string };
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** What is no failure of a video. */
const OTHERS: { is: ErrorClass; status: number; type: string; message?: string }[] = [
  { is: NoSuchVideo, status: 404, type: 'NoSuchVideo' },
  { is: DecisionRefused, status: 409, type: 'DecisionRefused' },
  {
    is: ServiceError,
    status: 503,
    type: 'TemporalUnavailable',
    message:
      'Temporal, or the worker that knows of the video, does not answer; nothing is lost, ask again later.',
  },
];

/** How an error is told over HTTP. The failures of videos bring their own status and advice. */
export function sendError(error: unknown): ToldError {
  if (error instanceof VideoFailure) {
    const { type, message, advice, taskId } = error;
    return { status: FAILURES[type].gatewayStatus, body: { type, message, advice, taskId } };
  }
  const { message, status = 500 }: { message?: string; status?: number } = Object(error);
  const row = OTHERS.find(({ is }) => error instanceof is);
  if (row) return { status: row.status, body: { type: row.type, message: row.message ?? String(message) } };
  // Express knows a status for a body that it cannot read.
  if (status < 500) return { status, body: { type: 'InvalidRequest', message: String(message) } };
  console.error(error);
  return {
    status: 500,
    body: { type: 'Unexpected', message: 'Something unforeseen happened; the log has it.' },
  };
}
