import type { Cap } from './caps';
import type { DurationText } from './duration';
import type { RefusedContent, ServiceRefusal } from './failure-details';
import type { FailureType } from './failure-table';
import type { JobCost } from './job-cost';
import type { LostSubmitPolicy } from './lost-submit';
import type { Money } from './money';
import type { VideoRequest } from './request';

/** The input of a job: a request for a new video, or the id of an existing task to adopt. */
export type JobInput = ({ request: VideoRequest; taskId?: never } | { taskId: string; request?: never }) &
  JobOptions;

/** Options of a job, besides its request or task id. */
export interface JobOptions {
  /** How long the job may take, from its start to the video; 1 hour by default. */
  deadline?: DurationText;
  /**
   * Where the video goes in the worker's storage: a key, or a prefix that ends with `/`. It may contain `{workflowId}`,
   * `{taskId}`, `{date}` and `{ext}`.
   */
  storage?: string;
  /** The shortest and the longest wait between two polls. */
  polling?: { min?: DurationText; max?: DurationText };
  /** What to do when the answer to the submit is lost; the worker's setting by default, or else `hold`. */
  onLostSubmit?: LostSubmitPolicy;
  /** How long a lost submit waits for a decision; 24 hours by default. The deadline is paused meanwhile. */
  holdFor?: DurationText;
  /** The idempotency key of the submit; made from namespace, workflow id and request by default. */
  idempotencyKey?: string;
  /** Called when the job ends or needs a decision; the worker's `VIDEOGEN_WEBHOOK_URL` by default. */
  callbackUrl?: string;
  /** How much the job may take: the worker sends nothing that is more. */
  cap?: Cap;
  /** Whose job it is, for caps and for what was spent. The gateway sets it to the name of the key. */
  caller?: string;
  /** Which of the worker's services makes the video; the worker's default without it. */
  service?: string;
  /**
   * How long the submit may be retried after a 429, a server error or a failed connection; until the deadline by default. Once
   * it has passed and certainly no task exists, the job fails as its last attempt did.
   */
  submitWithin?: DurationText;
  /** A cap that several jobs share, counted under its name. A batch gives its items one. */
  sharedCap?: { name: string; cap: Cap };
}

/**
 * The input of a job that tries several services: the next one only when it is certain that the one before made no task
 * because it refused the request or could not be reached; never after a lost submit.
 */
export interface FallbackInput extends Omit<JobOptions, 'service' | 'submitWithin'> {
  request: VideoRequest;
  taskId?: never;
  /** The services to try, in this order. */
  services: string[];
  /** How long one of them is tried again after a 429, a server error or a failed connection; 1 minute by default. */
  fallbackAfter?: DurationText;
}

/** What a client starts: with `services` it becomes a job at each of them in turn. */
export type VideoInput = (JobInput & { services?: never; fallbackAfter?: never }) | FallbackInput;

/** The states of a task, whatever the service calls them. */
export const TASK_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const;

/** One of TASK_STATES. */
export type TaskState = (typeof TASK_STATES)[number];

/**
 * What one poll learned about a task. It contains no link, because links are secrets and expire. `charged`: what the service
 * says that the task cost, once it has ended. `refused`: the task failed because of the service's content policy.
 */
export type TaskStatus = { charged?: Money } & (
  | { state: 'queued' | 'running' | 'unknown'; word: string; percent?: number }
  | { state: 'succeeded'; word: string; hasVideo: boolean }
  | { state: 'failed'; word: string; code?: string; message?: string; refused?: RefusedContent }
  | { state: 'cancelled'; word: string; code?: string; message?: string }
);

/** The highest percentage that the service has reported of a task. */
export interface ReportedProgress {
  percent: number;
  /** When it was first reported, in milliseconds since the submit. */
  atMs: number;
}

/** The phases of a job, in their usual order. */
export const JOB_PHASES = [
  'submitting',
  'needs-decision',
  'waiting',
  'downloading',
  'succeeded',
  'failed',
  'cancelled',
] as const;

/** One of JOB_PHASES. */
export type JobPhase = (typeof JOB_PHASES)[number];

/** The answer to the query `progress`. Times are ISO 8601. */
export interface JobProgress {
  phase: JobPhase;
  taskId?: string;
  /** The service of the job, if it has a name on the worker. */
  service?: string;
  /** Which of the job's `services` made no task, in order. */
  refusedBy?: ServiceRefusal[];
  /** Of a job with `services`: the name of the job at the service whose turn it is. */
  child?: string;
  /** The task at the last poll; `word` is the service's own word for the state. */
  task?: { state: TaskState; word: string; percent?: number };
  /** How many polls were made. */
  polls: number;
  startedAt: string;
  deadlineAt: string;
  nextPollAt?: string;
  /** What the job costs, as far as it is known; without it the cost is unknown. */
  cost?: JobCost;
  /** A lost submit that waits for a decision, and when the job fails without one. */
  hold?: { since: string; until: string; message: string; lostSubmit?: string };
  /** The task queue on which the job waits although no worker serves it. */
  unservedQueue?: string;
  /** Why the last polls failed, and how many in a row; gone after a poll that succeeds. */
  problem?: { type: FailureType; message: string; count: number };
}

/** What a job tells the batch or the fallback that started it. */
export interface ChildNews {
  name: string;
  /** The lost submit that waits for a decision; null when it no longer does. */
  hold?: NonNullable<JobProgress['hold']> | null;
  /** Only told to a fallback. */
  taskId?: string;
}

/** The container format of a video file. */
export type Container = 'mp4' | 'mov' | 'webm' | 'mkv';

/** The facts that were read from a video file. A fact that could not be read is left out. */
export interface VideoFacts {
  /** As displayed, after cropping and rotation. */
  width?: number;
  height?: number;
  durationSeconds?: number;
  /** `avc`, `hevc`, `vp9`, `av1` … */
  codec?: string;
  container?: Container;
}

/** The fields of a request that its video is compared with. */
export type ExpectedVideo = Partial<Pick<VideoRequest, 'resolution' | 'aspect_ratio' | 'duration' | 'seed'>>;

/** A stored video, with the facts that were read from the file. */
export interface StoredVideo extends Omit<VideoFacts, 'container'> {
  uri: string;
  bytes: number;
  sha256: string;
  contentType: string;
}

/** The result of a job that succeeded. */
export interface JobResult {
  taskId: string;
  video: StoredVideo;
  seed?: number;
  /** How many polls were made. */
  polls: number;
  /** From the submit (or the adoption) to the poll that found the video. */
  waitedMs: number;
  /** How the video differs from the request, and what could not be checked, one sentence each. */
  warnings: string[];
  /** What the video cost, as far as it is known; without it the cost is unknown. */
  cost?: JobCost;
  /** The service that made the video, if it has a name on the worker. */
  service?: string;
  /** Which of the job's `services` made no task, in order. */
  refusedBy?: ServiceRefusal[];
}
