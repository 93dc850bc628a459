import type { JobResult } from '../contract/job';
import type { ModelMetadata, ModelWarning } from './video-model-v4';

/** A job that succeeded. */
export interface EndedJob {
  workflowId: string;
  result: JobResult;
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

export function warningsOf({ result }: EndedJob): ModelWarning[] {
  return result.warnings.map((message) => ({ type: 'other', message }));
}
