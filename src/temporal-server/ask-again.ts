import { type ConnectionLike, isGrpcDeadlineError, type WorkflowClientInterceptor } from '@temporalio/client';

/** A worker answers a query within milliseconds, on a busy machine within a second or two. */
const ANSWERED_WITHIN_MS = 3_000;
/** Without a worker, nobody ever answers. */
const MOST_TRIES = 10;

/**
 * Asks a query again that gets no answer. The time-skipping server loses one now and then while workflow tasks follow each other
 * closely, and the SDK's client would wait for it for ever. A real server loses none.
 */
export function askAgain(connection: Pick<ConnectionLike, 'withDeadline'>): WorkflowClientInterceptor {
  return {
    async query(input, next) {
      for (let tries = 1; ; tries++) {
        try {
          return await connection.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => next(input));
        } catch (error) {
          if (tries === MOST_TRIES || !isGrpcDeadlineError(error)) throw error;
        }
      }
    },
  };
}
