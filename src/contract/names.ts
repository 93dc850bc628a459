import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { cleanText } from './clean-text';
import type { FailureType } from './failure-table';
import type { JobPhase, VideoInput } from './job';
import type { WebhookEvent } from './webhook';

/** A job. */
export const WORKFLOW_TYPE = 'generateVideo';
/** A job that tries several services in turn. */
export const FALLBACK_WORKFLOW_TYPE = 'generateVideoWithFallback';
export const BATCH_WORKFLOW_TYPE = 'generateVideos';
export const WEBHOOK_WORKFLOW_TYPE = 'deliverWebhook';
/** Counts what the caps allow: see `ledgerIdOf`. */
export const LEDGER_WORKFLOW_TYPE = 'keepLedger';
/** Reserves, releases and settles. */
export const LEDGER_UPDATE = 'writeLedger';
export const LEDGER_QUERY = 'ledger';
export const NEXUS_SERVICE = 'VideoGeneration';
/** Of jobs and batches. */
export const PROGRESS_QUERY = 'progress';
export const WAIT_FOR_TASK_UPDATE = 'waitForTask';
export const DECIDE_SUBMIT_UPDATE = 'decideSubmit';
export const POLL_NOW_SIGNAL = 'pollNow';
/** Sent by a job to the batch or the fallback that started it. */
export const CHILD_NEWS_SIGNAL = 'childNews';
/** Temporal's numbers for the types of a task queue. */
export const TASK_QUEUE_TYPES = { workflows: 1, activities: 2 } as const;
/** The task queue of clients and workers that set none. */
export const DEFAULT_TASK_QUEUE = 'video-generation';

/**
 * The task queue for the submits of jobs on a task queue. It is their own, so that few run at a time, in order of priority, and
 * do not block quick work: `films-submit` for `films`.
 */
export const submitQueueOf = (taskQueue: string) => `${taskQueue}-submit`;

/**
 * The task queue for the submits to a named service, where submits have a queue of their own: a service that accepts nothing
 * for a while does not hold up the others (`films-submit-fal-seedance`).
 */
export const serviceQueueOf = (submitQueue: string, service: string) => `${submitQueue}-${service}`;

/** The workflow id of the ledger in which all workers of a task queue count, such as `videogen-ledger-films`. */
export const ledgerIdOf = (taskQueue: string) => `videogen-ledger-${taskQueue}`;

/**
 * The id of a webhook, and of the workflow that delivers it: one for one event of one job, however often the job is reset or the
 * webhook sent. Without dots, because signatures put one after it.
 */
export const webhookId = (firstRunId: string, event: WebhookEvent, count: number) =>
  `${webhookPrefix(firstRunId)}${event.replace('video.', '')}_${count}`;

/** How the ids of all webhooks of a job begin. */
export const webhookPrefix = (firstRunId: string) => `webhook_${firstRunId}_`;

/** The memo with a job's identity: a second start under the same name is compared with it. */
export const IDENTITY_MEMO = 'jobIdentity';

/** The memo with the time when a lost submit was first held. With it set, a request may have been sent. */
export const LOST_SUBMIT_MEMO = 'lostSubmitSince';

/** The memo with the task id, readable without a worker and after a termination. */
export const TASK_ID_MEMO = 'taskId';

/** The memo with what a job costs, if anything is known: lists of jobs have it, without a query. */
export const COST_MEMO = 'videoCost';

/** The memo with the name of a job's service, if it has one. A client that set it knows that workers have the service. */
export const SERVICE_MEMO = 'videoService';

/** The memo that says what started a job as a part of itself: `batch` or `fallback`. */
export const MADE_FOR_MEMO = 'madeFor';

/** The memos of one job alone. What other programs noted about a job is true for its retry and for its parts too. */
export const OWN_MEMOS: readonly string[] = [
  IDENTITY_MEMO,
  TASK_ID_MEMO,
  LOST_SUBMIT_MEMO,
  COST_MEMO,
  MADE_FOR_MEMO,
];

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

/** The attributes at the start; a job that adopts a task submits nothing. A job updates those alone that it started with. */
export const firstSearchAttributes = ({ taskId }: VideoInput) =>
  searchAttributesOf(taskId === undefined ? { phase: 'submitting' } : { phase: 'waiting', taskId });

/** The name of the job at one of the services, such as `fox.fal-seedance`. */
export const childName = (name: string, service: string) => `${name}.${service}`;
