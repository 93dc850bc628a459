import type { JobResult } from '../contract/job';
import type { ModelMetadata, ModelWarning } from './video-model-v4';

/** A job that succeeded. */
export interface EndedJob {
  workflowId: string;
  result: JobResult;
}

/** A job that failed, or that Temporal does not have. */
export interface FailedJob {
  workflowId: string;
  sentence: string;
}

/** What `providerMetadata.videogen` says: the facts of the first video, and under `videos` those of each. */
export function metadataOf(ended: readonly EndedJob[]): ModelMetadata {
  const videos = ended.map(factsOf);
  return { videogen: { ...videos[0], phase: 'succeeded', videos } };
}

function factsOf({ workflowId, result }: EndedJob): ModelMetadata['videogen'] {
  const { video, ...facts } = result;
  // JSON leaves out what is undefined.
  return JSON.parse(JSON.stringify({ workflowId, ...facts, ...video }));
}

/** Those of the jobs, and the jobs that failed beside others that did not: their videos are paid for and wanted. */
export function warningsOf(
  count: number,
  ended: readonly EndedJob[],
  failed: readonly FailedJob[],
): ModelWarning[] {
  const messages = [
    ...failed.map(({ sentence }) => `One of ${count} videos was not made. ${sentence}`),
    ...ended.flatMap(({ result }) => result.warnings),
  ];
  return messages.map((message) => ({ type: 'other', message }));
}
