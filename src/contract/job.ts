import type { Cap } from './caps';
import type { DurationText } from './duration';
import type { ExtraName, StoredExtras } from './extras';
import type { FailureType } from './failure-table';
import type { JobCost } from './job-cost';
import type { LostSubmitPolicy } from './lost-submit';
import type { Money } from './money';
import type { RefusedContent } from './refused-content';
import type { VideoRequest } from './request';
import type { ServiceAttempt } from './service-attempts';
import type { ExpectedTimes } from './usual-times';
import type { VideoFacts } from './video-facts';
import type { WebhookEvent } from './webhook';

/** The input of a job: a request for a new video, or the id of an existing task to adopt. */
export type JobInput = ({ request: VideoRequest; taskId?: never } | { taskId: string; request?: never }) &
  JobOptions;

/** Options of a job, beside its request or task id. */
export interface JobOptions {
  /** How long the job may take, from its start to the video; 1 hour by default. */
  deadline?: DurationText;
  /**
   * Where the video goes in the worker's storage: a key, or a prefix that ends with `/`. It may contain `{workflowId}`,
   * `{taskId}`, `{date}` and `{ext}`.
   */
  storage?: string;
  /**
   * The shortest and the longest wait between two polls, and how many polls it may cost to have the video one second
   * sooner; 4 by default.
   */
  polling?: { min?: DurationText; max?: DurationText; pollsPerSecondSaved?: number };
  /** What to do when the answer to the submit is lost; the worker's setting by default, or else `hold`. */
  onLostSubmit?: LostSubmitPolicy;
  /** How long a lost submit waits for a decision; 24 hours by default. The deadline is paused meanwhile. */
  holdFor?: DurationText;
  /** The idempotency key of the submit; made from namespace, workflow id and request by default. */
  idempotencyKey?: string;
  /** Stores a download that is not a complete video as `<key>.bad`, instead of deleting it. */
  keepBad?: boolean;
  /**
   * How long the video stays in the storage after it was stored, such as `30d`, or `forever`; the worker's
   * `VIDEOGEN_KEEP_FOR` by default, or else for good.
   */
  keepFor?: DurationText;
  /** Pictures of the video to store beside it; none by default. A worker without ffmpeg makes none, and says so. */
  extras?: ExtraName[];
  /**
   * The name of a finished job whose last frame is the image of this one. The request then has no `image_url` of its own: this
   * becomes it.
   */
  continueFrom?: string;
  /** Called when the job ends or needs a decision; the worker's `VIDEOGEN_WEBHOOK_URL` by default. */
  callbackUrl?: string;
  /** How much the job may take: the worker sends nothing that is more. */
  cap?: Cap;
  /** Whose job it is, for caps and for what was spent. The gateway sets it to the name of the key. */
  caller?: string;
  /** Which of the worker's services makes the video; the worker's default without it. */
  service?: string;
  /** The name of the key for that service on the worker, never the key itself; the service's own by default. */
  serviceKey?: string;
  /**
   * Instead of `service`: the services to try, in this order. The next one is tried only when it is certain that the one before
   * made no task because it refused the request or could not be reached; never after a lost submit.
   */
  services?: string[];
  /** How long one of `services` is tried again after a 429, a server error or a failed connection; 1 minute by default. */
  fallbackAfter?: DurationText;
  /** Task queues for submits and downloads; the job's own queue by default. */
  queues?: { submit?: string; download?: string };
}

/** The states of a task, whatever the service calls them. */
export const TASK_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const;

/** One of TASK_STATES. */
export type TaskState = (typeof TASK_STATES)[number];

/**
 * What one poll learned about a task. It contains no link, because links are secrets and expire. `hasReceiver`: the worker
 * has a default receiver of webhooks. `charged`: what the service says that the task cost, once it has ended. `refused`: the
 * task failed because of the service's content policy.
 */
export type TaskStatus = { servicePolling?: ServicePolling; hasReceiver?: true; charged?: Money } & (
  | { state: 'queued' | 'running' | 'unknown'; word: string; percent?: number; retryAfterMs?: number }
  | { state: 'succeeded'; word: string; hasVideo: boolean }
  | { state: 'failed'; word: string; code?: string; message?: string; refused?: RefusedContent }
  | { state: 'cancelled'; word: string; code?: string; message?: string }
);

/** How the service's profile and the worker's settings want tasks to be polled. Times are in milliseconds. */
export interface ServicePolling {
  min?: number;
  max?: number;
  pollsPerSecondSaved?: number;
  /** How long its tasks take, before the worker has learned it. */
  usually?: ExpectedTimes;
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
  /** What became of the submits to the job's `services`, in order. */
  attempts?: ServiceAttempt[];
  /** The task at the last poll; `word` is the service's own word for the state. */
  task?: { state: TaskState; word: string; percent?: number };
  /** How many polls were made. */
  polls: number;
  startedAt: string;
  deadlineAt: string;
  nextPollAt?: string;
  /** How much of the video has been downloaded; updated every few seconds. */
  download?: DownloadProgress;
  /** What the job costs, as far as it is known; without it the cost is unknown. */
  cost?: JobCost;
  /** A lost submit that waits for a decision, and when the job fails without one. */
  hold?: { since: string; until: string; message: string };
  /** The last decision that was sent as a signal. */
  signalled?: SignalledDecision;
  /** The last webhook, and the workflow that delivers it. */
  webhook?: { event: WebhookEvent; workflowId: string };
  /** Why the last polls failed, and how many in a row; gone after a poll that succeeds. */
  problem?: { type: FailureType; message: string; count: number };
}

/** The last decision that came as a signal. */
export interface SignalledDecision {
  /** The id that the sender gave the signal. */
  id?: string;
  /** Why the decision was refused, if it was. */
  refused?: string;
}

/** How much of a video has been downloaded. */
export interface DownloadProgress {
  bytes: number;
  /** The size of the whole video, if the service sent it. */
  of?: number;
}

/** Download progress as the activity signals it to the workflow. */
export interface ReportedDownload extends DownloadProgress {
  /** The name of the item, in a batch. */
  job?: string;
}

/** A stored video, with the facts that were read from the file. */
export interface StoredVideo extends Omit<VideoFacts, 'container'> {
  uri: string;
  bytes: number;
  sha256: string;
  contentType: string;
  /** When workers remove it from the storage, ISO 8601; without it, never. */
  expiresAt?: string;
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
  /** How the video differs from the request, and what could not be checked or made, one sentence each. */
  warnings: string[];
  /** The pictures that were asked for. */
  extras?: StoredExtras;
  /** What the video cost, as far as it is known; without it the cost is unknown. */
  cost?: JobCost;
  /** The service that made the video, if it has a name on the worker. */
  service?: string;
  /** What became of the submits to the job's `services`, in order; the last one made the task. */
  attempts?: ServiceAttempt[];
}
