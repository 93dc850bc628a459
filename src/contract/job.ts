import type { DurationText } from './duration';
import type { FailureType } from './failure-table';
import type { FailureDetails } from './failures';
import type { LostSubmitPolicy } from './lost-submit';
import type { VideoRequest } from './request';
import type { TaskState } from './task-state';
import type { ExpectedVideo, VideoFacts } from './video-facts';

/** What one job is to do: a new generation, or the rest of the way for a task that exists already. */
export type JobInput = ({ request: VideoRequest; taskId?: never } | { taskId: string; request?: never }) &
  JobOptions;

export interface JobOptions {
  /** How long the job may take from its start to the video; 1 hour unless set. */
  deadline?: DurationText;
  /**
   * Where the video goes inside the worker's storage: a key, or a prefix when it ends with `/`. `{workflowId}`,
   * `{taskId}`, `{date}` and `{ext}` stand for what they say.
   */
  storage?: string;
  /** Bounds of the pause between two looks at the task. */
  polling?: { min?: DurationText; max?: DurationText };
  /** The worker's setting decides unless this does; `hold` without either. */
  onLostSubmit?: LostSubmitPolicy;
  /** How long a lost submit is held for a decision; 24 hours unless set. The deadline stands still meanwhile. */
  holdFor?: DurationText;
  /** Sent with the submit in place of a key made of namespace, workflow id and request. */
  idempotencyKey?: string;
  /** Keeps what was downloaded and is no video, beside the video's place; it is removed unless this is set. */
  keepBad?: boolean;
  /** Task queues of activities that do not run on the job's own. */
  queues?: { submit?: string; download?: string };
}

export const JOB_PHASES = [
  'submitting',
  'needs-decision',
  'waiting',
  'downloading',
  'succeeded',
  'failed',
  'cancelled',
] as const;

export type JobPhase = (typeof JOB_PHASES)[number];

/** The answer of the query `progress`. Times are ISO 8601. */
export interface JobProgress {
  phase: JobPhase;
  taskId?: string;
  /** The task as last seen; `word` is what the service itself calls it. */
  task?: { state: TaskState; word: string; percent?: number };
  polls: number;
  startedAt: string;
  deadlineAt: string;
  nextPollAt?: string;
  /** How much of the video has come, of how much if that is known; told now and then while it downloads. */
  download?: DownloadProgress;
  /** The lost submit that waits for a decision, and when the job fails without one. */
  hold?: { since: string; until: string; message: string };
  /** The last decision that came as a signal; `refused` says why it was not taken. */
  signalled?: SignalledDecision;
  /** The problem of the last looks, gone as soon as one succeeds. */
  problem?: { type: FailureType; message: string; count: number };
}

export interface SignalledDecision {
  /** As its sender named it. */
  id?: string;
  refused?: string;
}

export interface DownloadProgress {
  bytes: number;
  of?: number;
}

/** As a download tells it: an item of a batch is named. */
export interface ReportedDownload extends DownloadProgress {
  job?: string;
}

/** A video in its place, with what it says about itself. */
export interface StoredVideo extends Omit<VideoFacts, 'container'> {
  uri: string;
  bytes: number;
  sha256: string;
  contentType: string;
}

export interface JobResult {
  taskId: string;
  video: StoredVideo;
  seed?: number;
  /** How often the service was asked for the task's status. */
  polls: number;
  /** From the task's submission (or adoption) to the look that found the video ready. */
  waitedMs: number;
  /** What the video has otherwise than was asked for, and what could not be checked of it, a sentence each. */
  warnings: string[];
}

/** Milliseconds, as the service's profile has them. */
export interface PollBounds {
  min?: number;
  max?: number;
}

/** What one look at a task found. There is no link in it: links are secrets and expire. */
export type TaskStatus = { polling?: PollBounds } & (
  | { state: 'queued' | 'running' | 'unknown'; word: string; percent?: number; retryAfterMs?: number }
  | { state: 'succeeded'; word: string; hasVideo: boolean }
  | { state: 'failed' | 'cancelled'; word: string; code?: string; message?: string }
);

/**
 * What a job takes along when it continues as new; the second argument of the workflow, never a caller's. Hundreds of items
 * of a batch take it along together, so what is as it was at the start is left out.
 */
export interface CarriedJob {
  taskId?: string;
  expected?: ExpectedVideo;
  /** The lost submit whose decision it waits for. */
  hold?: { sinceMs: number; lost: FailureDetails };
  adopted?: boolean;
  /** Which record of the job the storage keeps. */
  record?: string;
  startedAtMs: number;
  /** For so long the deadline stood still. */
  heldMs?: number;
  submittedAtMs: number;
  polls: number;
  pollRequested?: boolean;
  lastTask?: JobProgress['task'];
  problem?: JobProgress['problem'];
  misses?: { task: number; video: number };
  warnedWords: string[];
  polling?: PollBounds;
}
