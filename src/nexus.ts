import { operation, service } from 'nexus-rpc';
import type { JobInput, JobProgress, JobResult } from './contract/job';
import type { SubmitDecision } from './contract/lost-submit';
import { NEXUS_SERVICE } from './contract/names';

/** The input of a job, with its workflow id if the caller chooses one: the same request with the same id is one job. */
export type NexusJobInput = JobInput & { workflowId?: string };

/** A decision about a lost submit, and the job. */
export type NexusDecision = SubmitDecision & { workflowId: string };

/**
 * The Nexus service for callers in other namespaces. Their workflows import it, so it contains no code: the handler, which
 * parses and calls Temporal, could not be loaded in a workflow.
 *
 * @example
 * ```ts
 * const videos = createNexusServiceClient({ service: videoGeneration, endpoint: 'videos' });
 * const { video } = await videos.executeOperation('generateVideo', { request: { prompt: 'A red fox in the snow' } });
 * ```
 */
export const videoGeneration = service(NEXUS_SERVICE, {
  /** Completes when the video is stored. Cancelling the operation cancels the job. */
  generateVideo: operation<NexusJobInput, JobResult>(),
  /** The progress of a job, by its workflow id. */
  progress: operation<{ workflowId: string }, JobProgress>(),
  /** Settles a lost submit of a job that waits for a decision. */
  decideSubmit: operation<NexusDecision, void>(),
});
