import { operation, service } from 'nexus-rpc';
import type { JobInput, JobProgress, JobResult } from '../contract/job';
import { NEXUS_SERVICE } from '../contract/names';

export type { JobInput, JobProgress, JobResult } from '../contract/job';

/** A job, and its name when the caller wants to choose it: the same request under one name is one job. */
export type NexusJobInput = JobInput & { workflowId?: string };

/**
 * What callers in other namespaces may ask for. Their workflows import this file; what answers them is in nexus-handler.ts, which parses and talks to Temporal and cannot be loaded in a workflow.
 */
export const videoGeneration = service(NEXUS_SERVICE, {
  /** Ends when the video is stored. A cancellation cancels the job. */
  generateVideo: operation<NexusJobInput, JobResult>(),
  /** Where a job is that was started under a name. */
  progress: operation<{ workflowId: string }, JobProgress>(),
});
