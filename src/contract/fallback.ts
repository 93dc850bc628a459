import type { DurationText } from './duration';
import type { JobInput, JobOptions, JobProgress } from './job';
import type { VideoRequest } from './request';

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

/** What a job tells the batch or the fallback that started it. */
export interface ChildNews {
  name: string;
  /** The lost submit that waits for a decision; null when it no longer does. */
  hold?: NonNullable<JobProgress['hold']> | null;
  /** Only told to a fallback. */
  taskId?: string;
}
