import type { Logger, NativeConnection } from '@temporalio/worker';
import { cleanText } from '../contract/clean-text';
import { WORKFLOW_TYPE } from '../contract/names';
import type { HealthPart } from '../monitor/health';
import type { Sample } from '../monitor/registry';

/** Temporal is asked no more often than this, however many scrape and probe. */
const ASK_EVERY_MS = 10_000;
/** As long as the gateway waits for its own /readyz. */
const ANSWER_WITHIN_MS = 2_000;
/** The number of activities in Temporal's API. */
const ACTIVITY_QUEUE = 2;

const HELD = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running' AND VideoPhase = 'needs-decision'`;

export interface TemporalGaugesOptions {
  connection(): NativeConnection | undefined;
  namespace: string;
  /** None if this process takes no submits. */
  submitQueues: readonly string[];
  /** Only where jobs have search attributes. */
  countsHeldJobs: boolean;
  log: Pick<Logger, 'debug'>;
}

/** What only Temporal knows: whether it answers, how many submits wait for a worker, and how many jobs for a decision. */
export class TemporalGauges {
  readonly health = every(ASK_EVERY_MS, () => this.askHealth());
  readonly samples = every(ASK_EVERY_MS, () => this.askSamples());

  constructor(private readonly options: TemporalGaugesOptions) {}

  private async askHealth(): Promise<HealthPart> {
    try {
      await this.ask((connection) => connection.workflowService.getSystemInfo({}));
      return { part: 'temporal', status: 'ok' };
    } catch {
      const reason = `no answer within ${ANSWER_WITHIN_MS / 1_000} s`;
      return { part: 'temporal', status: 'unready', reason };
    }
  }

  /** Numbers that Temporal does not give are left out: a 0 would be a claim. */
  private async askSamples(): Promise<Sample[]> {
    const backlogs = this.options.submitQueues.map((queue) => this.backlog(queue));
    const asked = await Promise.allSettled([...backlogs, this.held()]);
    return asked.flatMap((one) => {
      if (one.status === 'fulfilled') return one.value;
      this.options.log.debug('Temporal did not say how many wait', { error: cleanText(String(one.reason)) });
      return [];
    });
  }

  private async backlog(submitQueue: string): Promise<Sample[]> {
    const { namespace } = this.options;
    const { stats } = await this.ask((connection) =>
      connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: submitQueue },
        taskQueueType: ACTIVITY_QUEUE,
        reportStats: true,
      }),
    );
    if (stats == null) return [];
    const { approximateBacklogCount, approximateBacklogAge: age } = stats;
    const labels = { task_queue: submitQueue };
    const seconds = Number(age?.seconds ?? 0) + (age?.nanos ?? 0) / 1e9;
    return [
      { metric: 'videogen_submit_backlog', labels, value: Number(approximateBacklogCount ?? 0) },
      { metric: 'videogen_oldest_submit_seconds', labels, value: seconds },
    ];
  }

  private async held(): Promise<Sample[]> {
    const { namespace, countsHeldJobs } = this.options;
    if (!countsHeldJobs) return [];
    const { count } = await this.ask((connection) =>
      connection.workflowService.countWorkflowExecutions({ namespace, query: HELD }),
    );
    return [{ metric: 'videogen_held_jobs', labels: {}, value: Number(count ?? 0) }];
  }

  private async ask<T>(call: (connection: NativeConnection) => Promise<T>): Promise<T> {
    const connection = this.options.connection();
    if (connection === undefined) throw new Error('the worker has no connection');
    return inTime(connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, () => call(connection)));
  }
}

/** The SDK's core tries a call again past its deadline while nobody listens at the address. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), ANSWER_WITHIN_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** The last answer, if it is not older than that. */
function every<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; atMs: number } | undefined;
  return () => {
    if (last === undefined || performance.now() - last.atMs > ms)
      last = { answer: ask(), atMs: performance.now() };
    return last.answer;
  };
}
