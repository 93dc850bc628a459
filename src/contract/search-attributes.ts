import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { cleanText } from './clean-text';
import type { FailureType } from './failure-table';
import type { VideoInput } from './fallback';
import type { JobPhase } from './job';

/** They find jobs in Temporal's lists, in a namespace where they are registered. */
const TASK_ID = defineSearchAttributeKey('VideoTaskId', 'KEYWORD');
const PHASE = defineSearchAttributeKey('VideoPhase', 'KEYWORD');
const OUTCOME = defineSearchAttributeKey('VideoOutcome', 'KEYWORD');

/** The search attributes of jobs, all of type Keyword. */
export const SEARCH_ATTRIBUTES = [TASK_ID.name, PHASE.name, OUTCOME.name] as const;

/** Stands for a value that is not known yet: Temporal drops attributes without a value. */
const NONE = 'none';

/** A server on SQL stores at most 255 characters; task ids may be longer. */
const LONGEST_VALUE_CHARS = 255;

/** What the search attributes say about a job. */
export interface Searchable {
  phase: JobPhase;
  taskId?: string;
  failure?: FailureType;
}

export function searchAttributesOf({ phase, taskId, failure }: Searchable) {
  const outcome = phase === 'succeeded' ? phase : (failure ?? NONE);
  return [
    { key: TASK_ID, value: cleanText(taskId ?? '', LONGEST_VALUE_CHARS) || NONE },
    { key: PHASE, value: phase },
    { key: OUTCOME, value: outcome },
  ] satisfies SearchAttributePair[];
}

/**
 * The attributes at the start; a job that adopts a task submits nothing. A job updates those alone that it started with, so
 * one that hides its task id starts without it: Temporal cannot encrypt search attributes.
 */
export function firstSearchAttributes(
  { taskId }: VideoInput,
  { hidesTaskId = false }: { hidesTaskId?: boolean } = {},
): SearchAttributePair[] {
  return searchAttributesOf(
    taskId === undefined ? { phase: 'submitting' } : { phase: 'waiting', taskId },
  ).filter(({ key }) => !hidesTaskId || key !== TASK_ID);
}
