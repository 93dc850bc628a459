import {
  ApplicationFailure,
  ContinueAsNew,
  proxySinks,
  type Sinks,
  TemporalFailure,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

export interface ReachedSinks extends Sinks {
  mutants: { reached(ids: string[]): void };
}

declare global {
  /** Set by the code of the workflows with mutants. */
  var __reached__: Set<string> | undefined;
  var __mutant__: string | undefined;
}

/** Without an active mutant: reports those that a workflow has reached. With one: has its errors end the workflow. */
export function interceptors(): WorkflowInterceptors {
  return globalThis.__mutant__ === undefined ? reportReached() : endAtErrors();
}

function reportReached(): WorkflowInterceptors {
  const { mutants } = proxySinks<ReachedSinks>();
  return {
    internals: [
      {
        concludeActivation(input, next) {
          mutants.reached([...(globalThis.__reached__ ?? [])]);
          globalThis.__reached__?.clear();
          return next(input);
        },
      },
    ],
  };
}

/** Temporal would try the workflow task again for ever, and the test server would skip no more time. */
function endAtErrors(): WorkflowInterceptors {
  return {
    inbound: [
      {
        execute: (input, next) => next(input).catch(end),
        handleSignal: (input, next) => next(input).catch(end),
      },
    ],
  };
}

function end(error: unknown): never {
  if (error instanceof TemporalFailure || error instanceof ContinueAsNew) throw error;
  throw ApplicationFailure.nonRetryable(String(error), 'Bug');
}
