import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { WorkflowIdReusePolicy } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import { version as nexus } from '@temporalio/nexus/package.json';
import {
  type CancelOperationContext,
  HandlerError,
  HandlerStartOperationResult,
  OperationError,
  type ServiceHandler,
  type StartOperationContext,
  serviceHandler,
} from 'nexus-rpc';
import type { generateVideo } from '../../workflows';
import { type Found, jobAfresh, startOrJoin } from '../client/start-or-join';
import { jobOf } from '../client/video-job';
import { createFailure, isVideoFailure, readFailure } from '../contract/failures';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { JobInput, JobProgress, JobResult } from '../contract/job';
import { identityOf, type JobIdentity } from '../contract/job-identity';
import { parseJobInput } from '../contract/job-input';
import { IDENTITY_MEMO, PROGRESS_QUERY, WORKFLOW_TYPE } from '../contract/names';
import { staticJobDetails } from '../contract/static-details';
import { describeJob } from '../contract/summaries';
import { checkSdkVersions } from '../worker/sdk-versions';
import { videoGeneration } from './service';

export interface VideoNexusOptions {
  /** Task queues of submits and downloads, when they do not wait on the queue of the worker that has the handler. */
  queues?: JobInput['queues'];
  /** Fields that requests may have beyond the interface. */
  requestFields?: readonly string[];
}

export function createHandler({ queues, requestFields }: VideoNexusOptions = {}): ServiceHandler {
  checkSdkVersions({ nexus });
  return serviceHandler(videoGeneration, {
    generateVideo: {
      async start(context: StartOperationContext, given): Promise<HandlerStartOperationResult<JobResult>> {
        const order = readOrder(given, { requestId: context.requestId, queues, requestFields });
        const handle = getClient().workflow.getHandle(order.workflowId);
        const outcome = await startOrJoin(handle, {
          wanted: order.wanted,
          workflowType: WORKFLOW_TYPE,
          wantedIn: identityOf,
          start: (reuse) => jobs.start(context, { ...order, reuse }),
          afresh: (found) => jobAfresh(handle, found),
        }).catch((error: unknown) => {
          throw isVideoFailure(error, 'InvalidRequest')
            ? refused('CONFLICT', error.details.message ?? error.message)
            : error;
        });
        return 'started' in outcome ? outcome.started : join(context, order, outcome.found);
      },
      cancel: (context: CancelOperationContext, token: string) => jobs.cancel(context, token),
    },
    async progress(_context, given) {
      const workflowId = readName(Object(given).workflowId);
      const progress = await progressOf(getClient(), workflowId);
      if (progress === undefined) throw refused('NOT_FOUND', `there is no job ${workflowId}`);
      return progress;
    },
  });
}

/** What a caller ordered, parsed. */
interface Order {
  workflowId: string;
  input: JobInput;
  wanted: JobIdentity;
  /** Whether it is known to be the same as what runs under the name. */
  joins?: boolean;
  /** What may have had the name before. */
  reuse?: WorkflowIdReusePolicy;
}

const jobs = new WorkflowRunOperationHandler<Order, JobResult>(
  (context, { workflowId, input, wanted, joins, reuse = 'REJECT_DUPLICATE' }) =>
    startWorkflow<typeof generateVideo>(context, WORKFLOW_TYPE, {
      staticSummary: describeJob(input),
      staticDetails: staticJobDetails(input),
      workflowIdReusePolicy: reuse,
      workflowIdConflictPolicy: joins ? 'USE_EXISTING' : 'FAIL',
      memo: { [IDENTITY_MEMO]: wanted },
      workflowId,
      args: [input],
    }),
);

/** Without a name of the caller's it is that of the request, which is the same when Temporal sends it again. */
function readOrder(
  given: unknown,
  { requestId, queues, requestFields }: VideoNexusOptions & { requestId: string },
): Order {
  const { workflowId = `video-nexus-${requestId}`, ...job } = Object(given);
  const parsed = parseJobInput(job, requestFields);
  if (!parsed.ok) throw refused('BAD_REQUEST', parsed.problem);
  const input: JobInput = { ...parsed.input, queues: { ...queues, ...parsed.input.queues } };
  return { workflowId: readName(workflowId), input, wanted: identityOf(parsed.input) };
}

function readName(workflowId: unknown): string {
  if (isWorkflowId(workflowId)) return workflowId;
  throw refused('BAD_REQUEST', `workflowId ${WORKFLOW_ID_RULE}`);
}

/** The caller reads it as any failure of a job; Temporal tries none of these again. */
function refused(type: 'BAD_REQUEST' | 'CONFLICT' | 'NOT_FOUND', message: string): HandlerError {
  const cause = createFailure('InvalidRequest', { message });
  return new HandlerError(type, cause.message, { cause });
}

/** Joins the job that has the name already; one that has ended answers at once. */
async function join(
  context: StartOperationContext,
  order: Order,
  { status, closeTime }: Found,
): Promise<HandlerStartOperationResult<JobResult>> {
  const handle = getClient().workflow.getHandle<typeof generateVideo>(order.workflowId);
  if (status.name === 'RUNNING') {
    try {
      return await jobs.start(context, { ...order, joins: true });
    } catch (error) {
      // It has ended since it was asked.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
  try {
    return HandlerStartOperationResult.sync(await jobOf(handle, { endedAt: closeTime }).result());
  } catch (error) {
    const failure = readFailure(error);
    if (failure === undefined) throw error;
    const cause = createFailure(failure.type, failure.details);
    throw new OperationError('failed', cause.message, { cause });
  }
}

/** Of jobs alone: whoever calls from another namespace has no business with other workflows. */
async function progressOf(client: Client, workflowId: string): Promise<JobProgress | undefined> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    if ((await handle.describe()).type !== WORKFLOW_TYPE) return undefined;
    return await handle.query<JobProgress>(PROGRESS_QUERY);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
