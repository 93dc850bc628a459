import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { jobOf } from '../client/video-job';
import { FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { isVideoFailure } from '../contract/video-failure';
import type { DeletedVideos } from './deleted-videos';
import { putLast } from './put-last';
import { withDeadline } from './temporal-deadline';
import type { Ending } from './video-object';

/** Clients poll every second or more often; Temporal is asked once for all of them. */
const FRESH_FOR_MS = 1_000;
/** An ended video changes only when it is deleted, which other gateways may do. */
const ENDED_FRESH_FOR_MS = 10_000;
const MOST_REMEMBERED = 10_000;

export interface Seen {
  description: WorkflowExecutionDescription;
  ending: Ending | undefined;
  /** It is shown to nobody any more. */
  isDeleted: boolean;
}

interface Entry {
  seen: Promise<Seen | undefined>;
  readAtMs: number;
  /** What it was when it had ended. */
  ended: Seen | undefined;
  /** Asked for once for all who watch. */
  percent?: Promise<number | undefined>;
}

/** The state of jobs, at most a second old, by describing their workflows: no query, so no worker has to be there. */
export class VideoBoard {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly client: Client,
    private readonly deleted: DeletedVideos,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Undefined when there is no such job. */
  async read(workflowId: string): Promise<Seen | undefined> {
    const known = this.entries.get(workflowId);
    const freshForMs = known?.ended ? ENDED_FRESH_FOR_MS : FRESH_FOR_MS;
    if (known && this.now() - known.readAtMs < freshForMs) return known.seen;
    const entry: Entry = {
      seen: withDeadline(this.client, () => this.load(workflowId, known?.ended)),
      readAtMs: this.now(),
      ended: undefined,
    };
    putLast(this.entries, workflowId, entry, MOST_REMEMBERED);
    try {
      const seen = await entry.seen;
      if (seen?.ending !== undefined) entry.ended = seen;
      // Somebody may start it in this second.
      if (seen === undefined) this.drop(workflowId, entry);
      return seen;
    } catch (error) {
      this.drop(workflowId, entry);
      throw error;
    }
  }

  /** The same for everyone who asks while the state is fresh: a query costs a worker more than a read costs Temporal. */
  percent(workflowId: string, ask: () => Promise<number | undefined>): Promise<number | undefined> {
    const entry = this.entries.get(workflowId);
    if (entry === undefined) return ask();
    entry.percent ??= ask();
    return entry.percent;
  }

  /** After a change that a caller made: the caller must see it at once. */
  forget(workflowId: string): void {
    this.entries.delete(workflowId);
  }

  /** A newer entry may have taken its place. */
  private drop(workflowId: string, entry: Entry): void {
    if (this.entries.get(workflowId) === entry) this.entries.delete(workflowId);
  }

  private async load(workflowId: string, before: Seen | undefined): Promise<Seen | undefined> {
    const handle = this.client.workflow.getHandle(workflowId);
    try {
      const description = await handle.describe();
      if (description.type !== WORKFLOW_TYPE && description.type !== FALLBACK_WORKFLOW_TYPE) return undefined;
      if (description.status.name === 'RUNNING') return { description, ending: undefined, isDeleted: false };
      const isSameRun = before?.description.runId === description.runId;
      const [ending, isDeleted] = await Promise.all([
        (isSameRun && before.ending) || this.endingOf(workflowId),
        // Whoever only asks for the state needs no storage.
        this.deleted.has(workflowId).catch(() => false),
      ]);
      return { description, ending, isDeleted };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  private async endingOf(workflowId: string): Promise<Ending> {
    try {
      return { result: await jobOf(this.client.workflow.getHandle(workflowId)).result() };
    } catch (error) {
      if (!isVideoFailure(error)) throw error;
      return { failure: error };
    }
  }
}
