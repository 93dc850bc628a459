import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { jobOf } from '../client/video-job';
import { WORKFLOW_TYPE } from '../contract/names';
import { isVideoFailure } from '../contract/video-failure';
import type { Ending } from './video-object';

/** Clients poll every second or more often; Temporal is asked once for all of them. */
const FRESH_FOR_MS = 1_000;
const MOST_REMEMBERED = 10_000;

export interface Seen {
  description: WorkflowExecutionDescription;
  ending: Ending | undefined;
}

interface Entry {
  seen: Promise<Seen | undefined>;
  readAtMs: number;
  hasEnded: boolean;
}

/** The state of jobs, at most a second old, by describing their workflows: no query, so no worker has to be there. */
export class VideoBoard {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly client: Client,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Undefined when there is no such job. */
  async read(workflowId: string): Promise<Seen | undefined> {
    const known = this.entries.get(workflowId);
    if (known && (known.hasEnded || this.now() - known.readAtMs < FRESH_FOR_MS)) return known.seen;
    const entry: Entry = { seen: this.load(workflowId), readAtMs: this.now(), hasEnded: false };
    this.remember(workflowId, entry);
    try {
      const seen = await entry.seen;
      entry.hasEnded = seen?.ending !== undefined;
      // Somebody may start it in this second.
      if (seen === undefined) this.entries.delete(workflowId);
      return seen;
    } catch (error) {
      this.entries.delete(workflowId);
      throw error;
    }
  }

  /** After a change that a caller made: the caller must see it at once. */
  forget(workflowId: string): void {
    this.entries.delete(workflowId);
  }

  private remember(workflowId: string, entry: Entry): void {
    this.entries.delete(workflowId);
    this.entries.set(workflowId, entry);
    const [oldest] = this.entries.keys();
    if (this.entries.size > MOST_REMEMBERED && oldest !== undefined) this.entries.delete(oldest);
  }

  private async load(workflowId: string): Promise<Seen | undefined> {
    const handle = this.client.workflow.getHandle(workflowId);
    try {
      const description = await handle.describe();
      if (description.type !== WORKFLOW_TYPE) return undefined;
      const hasEnded = description.status.name !== 'RUNNING';
      return { description, ending: hasEnded ? await this.endingOf(workflowId) : undefined };
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
