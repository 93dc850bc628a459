import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  defineSignal,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { AwaitedJob, JobEnd, VideoActivities } from '../activities';
import { FAILURES } from '../src/contract/failure-table';
import type { ChildNews, VideoInput } from '../src/contract/fallback';
import type { JobResult } from '../src/contract/job';
import { identityOf } from '../src/contract/job-identity';
import {
  CHILD_NEWS_SIGNAL,
  FALLBACK_WORKFLOW_TYPE,
  firstSearchAttributes,
  IDENTITY_MEMO,
  MADE_FOR_MEMO,
  OWN_MEMOS,
  SERVICE_MEMO,
  WORKFLOW_TYPE,
} from '../src/contract/names';
import { AWAIT_JOBS_POLICY } from '../src/contract/policies';
import { describeJob, staticJobDetails } from '../src/contract/summaries';
import { readFailure, VideoFailure } from '../src/contract/video-failure';
import { pollNow } from './messages';

export const childNews = defineSignal<[ChildNews]>(CHILD_NEWS_SIGNAL);

/** A parent passes the signal on. */
export function answerPollNow(running: () => string | string[]): void {
  const description = 'Has the running jobs poll their tasks now instead of at their next polls';
  setHandler(
    pollNow,
    () => {
      // One that has just ended needs no poll; without the catch, Temporal would fail the parent.
      for (const name of [running()].flat())
        getExternalWorkflowHandle(name)
          .signal(pollNow)
          .catch(() => undefined);
    },
    { description },
  );
}

const NOT_OF_CHILDREN = [...OWN_MEMOS, SERVICE_MEMO];

/** How a child ended: with a stored video or an explained failure. */
export type ChildEnd = { result: JobResult } | { failure: VideoFailure };

/**
 * The jobs that a batch or a fallback has others make: each is a child workflow that goes on without its parent. One that exists
 * already, of an earlier run or of a client, is joined.
 */
export class ChildJobs {
  private readonly joined = new Map<string, { job: AwaitedJob; end: (found: JobEnd) => void }>();
  private awaiting: CancellationScope | undefined;

  constructor(private readonly madeFor: 'batch' | 'fallback') {}

  /** Runs a child to its end. One that ended before without its video may be started again: its record knows what was paid. */
  async run(name: string, input: VideoInput): Promise<ChildEnd> {
    const job = { name, identity: identityOf(input) };
    for (let isAgain = false; ; isAgain = true) {
      try {
        return { result: await this.start(name, input, isAgain) };
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) {
          const found = await this.awaitEnd(job);
          if (isAgain || !this.mayStartAgain(found)) return endOf(found);
        } else if (error instanceof ChildWorkflowFailure) {
          // What Temporal ends itself has no details, and after a reset of the child its next run has the end.
          const failure = error.cause instanceof ApplicationFailure ? readFailure(error) : undefined;
          return failure ? { failure } : endOf(await this.awaitEnd(job, { isCancellable: false }));
        } else if (isCancellation(error)) return endOf(await this.awaitEnd(job));
        else throw error;
      }
    }
  }

  /** Waits for a child of the run before this one. */
  async join(name: string): Promise<ChildEnd> {
    return endOf(await this.awaitEnd({ name }));
  }

  /** A batch goes on by itself, and must not repeat what is final. Whoever starts a fallback again means it. */
  private mayStartAgain(found: JobEnd): boolean {
    if ('isGone' in found) return true;
    if (!found.hadEnded || !('failure' in found)) return false;
    return this.madeFor === 'fallback' || !FAILURES[found.failure].isFinal;
  }

  private start(name: string, input: VideoInput, isAgain: boolean): Promise<JobResult> {
    const { memo, typedSearchAttributes } = workflowInfo();
    return executeChild(input.services == null ? WORKFLOW_TYPE : FALLBACK_WORKFLOW_TYPE, {
      workflowId: name,
      args: [input],
      parentClosePolicy: 'ABANDON',
      cancellationType: 'WAIT_CANCELLATION_COMPLETED',
      // An ended one is examined before its name is used again, and one that succeeded never is.
      workflowIdReusePolicy: isAgain ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'REJECT_DUPLICATE',
      staticSummary: describeJob(input),
      staticDetails: staticJobDetails(input),
      memo: {
        ...Object.fromEntries(
          Object.entries(memo ?? {}).filter(([noted]) => !NOT_OF_CHILDREN.includes(noted)),
        ),
        [IDENTITY_MEMO]: identityOf(input),
        [MADE_FOR_MEMO]: this.madeFor,
        // The parent has asked a worker for it.
        ...('service' in input && input.service != null && { [SERVICE_MEMO]: input.service }),
      },
      typedSearchAttributes: firstSearchAttributes(input).filter(
        ({ key }) => typedSearchAttributes.get(key) !== undefined,
      ),
    });
  }

  /** A cancelled parent has it cancelled, and waits for its end like for that of any child. */
  private awaitEnd(job: AwaitedJob, { isCancellable = true } = {}): Promise<JobEnd> {
    const { cancelRequested, consideredCancelled } = CancellationScope.current();
    const cancel = () =>
      CancellationScope.nonCancellable(() => getExternalWorkflowHandle(job.name).cancel()).catch(
        () => undefined,
      );
    if (isCancellable && consideredCancelled) void cancel();
    else if (isCancellable)
      void cancelRequested.catch(() => (this.joined.has(job.name) ? cancel() : undefined));
    return new Promise((end) => {
      this.joined.set(job.name, { job, end });
      if (this.awaiting) this.awaiting.cancel();
      else void CancellationScope.nonCancellable(() => this.awaitAll());
    });
  }

  /** One activity waits for all of them, so that waiting takes one slot of a worker. A further one has it start over. */
  private async awaitAll(): Promise<void> {
    while (this.joined.size > 0) {
      const jobs = [...this.joined.values()].map(({ job }) => job);
      const { awaitJobs } = proxyActivities<VideoActivities>({
        ...AWAIT_JOBS_POLICY,
        summary: jobs.length === 1 ? jobs[0]?.name : `${jobs.length} jobs`,
      });
      this.awaiting = new CancellationScope({ cancellable: true });
      try {
        for (const found of await this.awaiting.run(() => awaitJobs({ jobs }))) {
          this.joined.get(found.name)?.end(found);
          this.joined.delete(found.name);
        }
      } catch (error) {
        if (!isCancellation(error)) throw error;
      }
    }
    this.awaiting = undefined;
  }
}

function endOf(found: JobEnd): ChildEnd {
  if ('result' in found) return { result: found.result };
  if ('failure' in found) return { failure: new VideoFailure(found.failure, found.details) };
  return { failure: new VideoFailure('Cancelled', { message: 'its job was never started, or is deleted' }) };
}
