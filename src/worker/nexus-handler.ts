import {
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { getClient, startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import {
  type CancelOperationContext,
  HandlerError,
  HandlerStartOperationResult,
  OperationError,
  type ServiceHandler,
  type StartOperationContext,
  serviceHandler,
} from 'nexus-rpc';
import type { generateVideo, generateVideoWithFallback } from '../../workflows';
import { parseWorkflowId, prepareJob } from '../client/prepare-start';
import { type Existing, type PreparedOptions, startOrJoin } from '../client/start-or-join';
import { decideSubmit, jobOf, jobProgress } from '../client/video-job';
import type { FailureDetails } from '../contract/failure-details';
import type { JobResult, VideoInput } from '../contract/job';
import { DecisionRefused } from '../contract/lost-submit';
import { FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import type { KnownServices } from '../contract/service-choice';
import { createFailure, isVideoFailure, readFailure } from '../contract/video-failure';
import { videoGeneration } from '../nexus';

/** Options of createVideoNexusHandler. */
export interface VideoNexusOptions {
  /** Request fields that the service takes beyond the interface. */
  requestFields?: readonly string[];
  /** The services of the worker, for callers that name one. Without it, the worker knows. */
  services?: KnownServices;
}

export function createHandler({ requestFields, services }: VideoNexusOptions = {}): ServiceHandler {
  return serviceHandler(videoGeneration, {
    generateVideo: {
      async start(context: StartOperationContext, given): Promise<HandlerStartOperationResult<JobResult>> {
        // The request id stays the same when Temporal sends the operation again.
        const { workflowId: name, ...input } = Object(given);
        const workflowId = name ?? `video-nexus-${context.requestId}`;
        const job = await orRefuse('BAD_REQUEST', () =>
          prepareJob(input, { workflowId, requestFields, services }),
        );
        const outcome = await orRefuse('CONFLICT', () =>
          startOrJoin(getClient(), job, (options) => jobs.start(context, options)),
        );
        return 'started' in outcome ? outcome.started : join(context, job.options, outcome.existing);
      },
      cancel: (context: CancelOperationContext, token: string) => jobs.cancel(context, token),
    },
    async progress(_context, given) {
      return jobProgress(await findJob(Object(given).workflowId));
    },
    async decideSubmit({ requestId }, given) {
      const { workflowId, ...decision } = Object(given);
      const job = await findJob(workflowId);
      try {
        // Temporal sends an operation again whose answer is lost.
        await decideSubmit(job, decision, requestId);
      } catch (error) {
        throw error instanceof DecisionRefused ? refusal('CONFLICT', { message: error.message }) : error;
      }
    },
  });
}

/**
 * Starts through @temporalio/nexus and not through the client: only that attaches the caller's links and completion
 * callback. So a running job is joined by another start, which adds the callback to it.
 */
const jobs = new WorkflowRunOperationHandler<PreparedOptions<VideoInput>, JobResult>((context, options) => {
  const [input] = options.args;
  return input.services
    ? startWorkflow<typeof generateVideoWithFallback>(context, FALLBACK_WORKFLOW_TYPE, {
        ...options,
        args: [input],
      })
    : startWorkflow<typeof generateVideo>(context, WORKFLOW_TYPE, { ...options, args: [input] });
});

/** Joins the job that already has the workflow id. One that has ended can call nobody back, so its end is the answer. */
async function join(
  context: StartOperationContext,
  options: PreparedOptions<VideoInput>,
  { closeTime }: Existing,
): Promise<HandlerStartOperationResult<JobResult>> {
  if (closeTime === undefined) {
    try {
      return await jobs.start(context, {
        ...options,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
    } catch (error) {
      // The job has ended since it was described.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
  const handle = getClient().workflow.getHandle(options.workflowId);
  try {
    return HandlerStartOperationResult.sync(await jobOf(handle, { endedAt: closeTime }).result());
  } catch (error) {
    const failure = readFailure(error);
    if (failure === undefined) throw error;
    const cause = createFailure(failure.type, failure.details);
    throw new OperationError('failed', cause.message, { cause });
  }
}

type RefusalType = 'BAD_REQUEST' | 'CONFLICT' | 'NOT_FOUND';

async function orRefuse<T>(type: RefusalType, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isVideoFailure(error, 'InvalidRequest') ? refusal(type, error.details) : error;
  }
}

/** The caller reads it like any failure of a job. Temporal does not retry these types. */
function refusal(type: RefusalType, details: FailureDetails): HandlerError {
  const cause = createFailure('InvalidRequest', details);
  return new HandlerError(type, cause.message, { cause });
}

/** Only jobs: callers in other namespaces may not see other workflows. */
async function findJob(given: unknown): Promise<WorkflowHandle> {
  const workflowId = await orRefuse('BAD_REQUEST', () => parseWorkflowId(given));
  const handle = getClient().workflow.getHandle(workflowId);
  const found = await handle.describe().catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
  if (found?.type === WORKFLOW_TYPE || found?.type === FALLBACK_WORKFLOW_TYPE) return handle;
  throw refusal('NOT_FOUND', { message: `there is no job ${workflowId}` });
}
