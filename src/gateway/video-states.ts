import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { removeVideo } from '../client/forget-job';
import { jobOf, type VideoJob } from '../client/video-job';
import type { JobResult } from '../contract/job';
import { FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { isVideoFailure } from '../contract/video-failure';
import { canRemove, isStored, type VideoStorage, writeSmallJson } from '../storage';
import { refusal } from './http-errors';
import { withDeadline } from './temporal-deadline';
import type { Ending } from './video-object';

/** Clients poll every second or more often; Temporal is asked once for all of them. */
const FRESH_FOR_MS = 1_000;
/** An ended video changes only when it is deleted, which other gateways may do. */
const ENDED_FRESH_FOR_MS = 10_000;
const MOST_REMEMBERED = 10_000;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 2_000;

export interface VideoSnapshot {
  taskId: string;
  job: VideoJob;
  description: WorkflowExecutionDescription;
  /** Undefined while the job runs. */
  ending: Ending | undefined;
  /** It is no longer shown to anybody. */
  isDeleted: boolean;
  /** As the service says it; undefined without a worker. Asked for once for all who watch: it costs a query. */
  percent?: Promise<number | undefined>;
}

/** The state of jobs, at most a second old, by describing their workflows: no query, so no worker has to be there. */
export class VideoStates {
  private readonly entries = new Map<
    string,
    { state: Promise<VideoSnapshot | undefined>; freshUntilMs: number }
  >();

  constructor(
    private readonly client: Client,
    private readonly storage: VideoStorage,
  ) {}

  /** Undefined when there is no such job. */
  async read(workflowId: string, taskId: string): Promise<VideoSnapshot | undefined> {
    const nowMs = performance.now();
    // Ten thousand that nobody asks for again would take 140 MB. The oldest come first.
    for (const [stale, { freshUntilMs }] of this.entries) {
      if (nowMs < freshUntilMs) break;
      this.entries.delete(stale);
    }
    const known = this.entries.get(workflowId);
    if (known && nowMs < known.freshUntilMs) return known.state;
    const state = withDeadline(this.client, () => this.load(workflowId, taskId));
    const entry = { state, freshUntilMs: nowMs + FRESH_FOR_MS };
    // The newest is last.
    this.entries.delete(workflowId);
    this.entries.set(workflowId, entry);
    const [oldest = ''] = this.entries.keys();
    if (this.entries.size > MOST_REMEMBERED) this.entries.delete(oldest);
    const snapshot = await state.catch(() => undefined);
    if (snapshot?.ending) entry.freshUntilMs = nowMs + ENDED_FRESH_FOR_MS;
    // Somebody may start it in this second.
    if (snapshot === undefined) entry.freshUntilMs = nowMs;
    return state;
  }

  /** The percentage of a job that runs. */
  percent(snapshot: VideoSnapshot): Promise<number | undefined> {
    snapshot.percent ??= withDeadline(this.client, () => snapshot.job.progress(), QUERY_WITHIN_MS).then(
      ({ task }) => task?.percent,
      () => undefined,
    );
    return snapshot.percent;
  }

  /** After a change that a caller made: the caller must see it at once. */
  forget(workflowId: string): void {
    this.entries.delete(workflowId);
  }

  /**
   * Whether the video was deleted, by a mark in the storage. The workflow itself stays until Temporal's retention ends, because a
   * deleted workflow would no longer count as one of the key's jobs of the day, and the job's record in the storage stays for
   * good. So a repeated Idempotency-Key is answered with 409 and pays nothing, even after the retention.
   */
  isDeleted(workflowId: string): Promise<boolean> {
    return isStored(this.storage, markOf(workflowId));
  }

  /** The file goes first: a DELETE that stops in between can be repeated. A file that is no longer this job's stays. */
  async delete(workflowId: string, result: JobResult | undefined): Promise<void> {
    const { storage } = this;
    if (result !== undefined) {
      if (!canRemove(storage)) throw refusal('cannot_delete');
      const { namespace } = this.client.options;
      const { video, taskId } = result;
      const key = storage.keyOf(video.uri);
      if (key !== undefined)
        await removeVideo(storage, { namespace, job: workflowId, taskId, key, sha256: video.sha256 });
    }
    const deletedAt = new Date().toISOString();
    await writeSmallJson(storage, markOf(workflowId), { workflowId, deletedAt });
  }

  private async load(workflowId: string, taskId: string): Promise<VideoSnapshot | undefined> {
    const handle = this.client.workflow.getHandle(workflowId);
    const job = jobOf(handle);
    try {
      const description = await handle.describe();
      if (description.type !== WORKFLOW_TYPE && description.type !== FALLBACK_WORKFLOW_TYPE) return undefined;
      if (description.closeTime === undefined)
        return { taskId, job, description, ending: undefined, isDeleted: false };
      const [ending, isDeleted] = await Promise.all([
        endingOf(job),
        // A state can be read while the storage does not answer.
        this.isDeleted(workflowId).catch(() => false),
      ]);
      return { taskId, job, description, ending, isDeleted };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }
}

async function endingOf(job: VideoJob): Promise<Ending> {
  try {
    return { result: await job.result() };
  } catch (error) {
    if (!isVideoFailure(error)) throw error;
    return { failure: error };
  }
}

const markOf = (workflowId: string) => `gateway/deleted/${workflowId}.json`;
