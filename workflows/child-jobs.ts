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
import type { AwaitJobInput, VideoActivities } from '../activities';
import { FAILURES } from '../src/contract/failure-table';
import type { ChildNews, JobResult, VideoInput } from '../src/contract/job';
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
import { AWAIT_JOB_POLICY } from '../src/contract/policies';
import { describeJob, staticJobDetails } from '../src/contract/summaries';
import { readFailure, VideoFailure } from '../src/contract/video-failure';
import { pollNow } from './messages';

const childNews = defineSignal<[ChildNews]>(CHILD_NEWS_SIGNAL);

/** Any program can send a signal, of any shape: what is not news must not keep the parent from going on. */
function isNews(news: unknown): news is ChildNews {
  const { name, hold }: Partial<Record<string, unknown>> = Object(news);
  const { since, until, message }: Partial<Record<string, unknown>> = Object(hold);
  return [name, ...(hold == null ? [] : [since, until, message])].every((one) => typeof one === 'string');
}

const NOT_OF_CHILDREN = [...OWN_MEMOS, SERVICE_MEMO];

/** How a child ended: with a stored video or an explained failure. */
export type ChildEnd = { result: JobResult } | { failure: VideoFailure };
/** `hadEnded`: before anybody waited for it. */
type JoinedEnd = ChildEnd & { hadEnded: boolean };

/**
 * The jobs that a batch or a fallback has others make: each is a child workflow that goes on without its parent. One that exists
 * already, of an earlier run or of a client, is joined.
 */
export class ChildJobs {
  private readonly running = new Set<string>();

  /** `onNews`: told by the children, as signals. */
  constructor(
    private readonly madeFor: 'batch' | 'fallback',
    private readonly onNews: (news: ChildNews) => void,
  ) {
    const takeNews = (news: unknown) => {
      if (isNews(news)) onNews(news);
    };
    setHandler(childNews, takeNews, {
      description: 'Sent by a child job that waits for a decision or no longer does, or has a task',
    });
    const tellRunning = () => {
      // One that has just ended needs no poll; without the catch, Temporal would fail the parent.
      for (const name of this.running)
        void getExternalWorkflowHandle(name)
          .signal(pollNow)
          .catch(() => undefined);
    };
    setHandler(pollNow, tellRunning, {
      description: 'Has the running jobs poll their tasks now instead of at their next polls',
    });
  }

  /** Runs a child to its end. Without an input, it is one that was held when the run before this one ended. */
  async run(name: string, input?: VideoInput): Promise<ChildEnd> {
    this.running.add(name);
    const end = await (input ? this.startOrJoin(name, input) : this.awaitEnd({ name, isHeld: true }));
    this.running.delete(name);
    return end;
  }

  /** One that ended before without its video may be started again: its record knows what was paid. */
  private async startOrJoin(name: string, input: VideoInput): Promise<ChildEnd> {
    const job = { name, identity: identityOf(input), sinceMs: Date.now() };
    for (let isAgain = false; ; isAgain = true) {
      try {
        return { result: await this.start(name, input, isAgain) };
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) {
          const found = await this.awaitEnd(job);
          if (isAgain || !this.mayStartAgain(found)) return found;
        } else if (error instanceof ChildWorkflowFailure) {
          // What Temporal ends itself has no details, and after a reset of the child its next run has the end.
          const failure = error.cause instanceof ApplicationFailure ? readFailure(error) : undefined;
          if (failure) return { failure };
          return await CancellationScope.nonCancellable(() => this.awaitEnd(job));
        } else if (isCancellation(error)) return await this.awaitEnd(job);
        else throw error;
      }
    }
  }

  /** A batch continues by itself, and must not repeat what is final. To start a fallback again is a decision. */
  private mayStartAgain(found: JoinedEnd): boolean {
    if (!found.hadEnded || !('failure' in found)) return false;
    return this.madeFor === 'fallback' || !FAILURES[found.failure.type].isFinal;
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
  private async awaitEnd(job: AwaitJobInput): Promise<JoinedEnd> {
    const { awaitJob } = proxyActivities<VideoActivities>({ ...AWAIT_JOB_POLICY, summary: job.name });
    try {
      const found = await awaitJob(job);
      if ('result' in found) return found;
      if ('failure' in found) return { ...found, failure: new VideoFailure(found.failure, found.details) };
      this.onNews({ name: job.name, hold: { since: found.heldSince, until: '', message: '' } });
      return await this.awaitEnd({ ...job, isHeld: true });
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return CancellationScope.nonCancellable(() => {
        // Not awaited: it may have ended, and Temporal's test server never answers for such a one.
        void getExternalWorkflowHandle(job.name)
          .cancel()
          .catch(() => undefined);
        return this.awaitEnd(job);
      });
    }
  }
}
