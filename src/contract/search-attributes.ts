import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { cleanText } from './clean-text';
import type { FailureType } from './failure-table';
import type { JobInput, JobPhase } from './job';

/** By what jobs can be found in Temporal's lists, in a namespace that has them registered. */
const TASK_ID = defineSearchAttributeKey('VideoTaskId', 'KEYWORD');
const PHASE = defineSearchAttributeKey('VideoPhase', 'KEYWORD');
const OUTCOME = defineSearchAttributeKey('VideoOutcome', 'KEYWORD');

export const SEARCH_ATTRIBUTES = [TASK_ID.name, PHASE.name, OUTCOME.name] as const;

/** The value of what is not known yet: an attribute without a value would not be there. */
const NONE = 'none';

/** A server on SQL has columns of 255 characters for them; task ids may be longer. */
const LONGEST_VALUE = 255;

/** What lists tell of a job. */
export interface Searchable {
  phase: JobPhase;
  taskId?: string;
  failure?: FailureType;
}

export function searchAttributesOf({ phase, taskId, failure }: Searchable) {
  const outcome = phase === 'succeeded' ? phase : (failure ?? NONE);
  return [
    { key: TASK_ID, value: cleanText(taskId ?? '', LONGEST_VALUE) || NONE },
    { key: PHASE, value: phase },
    { key: OUTCOME, value: outcome },
  ] satisfies SearchAttributePair[];
}

/** As they are when a job starts; one that adopts a task has nothing to submit. */
export function firstSearchAttributes({ taskId }: JobInput): SearchAttributePair[] {
  return searchAttributesOf(taskId === undefined ? { phase: 'submitting' } : { phase: 'waiting', taskId });
}
