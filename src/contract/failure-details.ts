import { cleanText } from './clean-text';
import type { FailureType } from './failure-table';
import type { JobCost } from './job-cost';
import type { LostSubmitPolicy } from './lost-submit';

/** The facts of a failure, besides its type: the first element of an ApplicationFailure's `details`. */
export interface FailureDetails extends RefusedContent {
  taskId?: string;
  /** The service that has the task or the lost submit, if it has a name on the worker: a task is adopted there. */
  service?: string;
  /** The HTTP status of the answer. */
  status?: number;
  /** The service's own error code and message, cleaned and cut. */
  code?: string;
  message?: string;
  /** What to do, if the general advice for the type does not fit. */
  advice?: string;
  /** The seconds of the service's Retry-After. */
  retryAfter?: number;
  attempt?: number;
  /** An answer such as 500, or an earlier lost submit, leaves open whether the service made a task. */
  mayHaveTask?: boolean;
  /** The id of the lost send. */
  lostSubmit?: string;
  /** The policy that applied to this lost submit. */
  onLostSubmit?: LostSubmitPolicy;
  /** ISO 8601. Set while a job waits for a decision: it has not failed yet. */
  heldSince?: string;
  heldUntil?: string;
  /** The cap that was reached, by its name in the settings, such as `day.videos`. */
  cap?: string;
  /** What is left of it, in videos, seconds or units of its currency. Unset if what the video takes is not known. */
  capLeft?: number;
  /** ISO 8601. Caps of jobs and batches never reset. */
  capResetsAt?: string;
  /** What the job costs, as far as it is known. */
  cost?: JobCost;
  /** Which of the job's `services` were tried before, in order. */
  refusedBy?: ServiceRefusal[];
}

/** A few sentences; only a service writes more. */
export const LONGEST_MESSAGE_CHARS = 2_000;
const LONGEST_FIELD_CHARS = 100;

/** Code and message may be a service's own text. The task id stays exact, because callers use it. */
export function cleaned(details: FailureDetails): FailureDetails {
  const { code, message, advice, field } = details;
  return {
    ...details,
    ...(field !== undefined && { field: cleanText(field, LONGEST_FIELD_CHARS) }),
    ...(code !== undefined && { code: cleanText(code) }),
    ...(message !== undefined && { message: cleanText(message, LONGEST_MESSAGE_CHARS) }),
    ...(advice !== undefined && { advice: cleanText(advice, LONGEST_MESSAGE_CHARS) }),
  };
}

/** What the content policy of a service can refuse: a prompt, an image, or the finished video. */
export const CONTENT_STAGES = ['prompt', 'image', 'output'] as const;

/** One of CONTENT_STAGES. */
export type ContentStage = (typeof CONTENT_STAGES)[number];

/** What is known about content that a service refused. Whatever the service does not say is left out. */
export interface RefusedContent {
  /** What was refused. */
  stage?: ContentStage;
  /** The field of the request that was refused. */
  field?: string;
  /** Whether the service charged for content that it refused. */
  charged?: boolean;
}

/** The field of the request behind each stage. */
const FIELDS: Partial<Record<ContentStage, string>> = { prompt: 'prompt', image: 'image_url' };

const SUBJECTS: Record<ContentStage, string> = {
  prompt: 'the prompt',
  image: 'the image',
  output: 'the finished video',
};

/** The field of the request that a stage is about; none for the finished video. */
export const fieldOfStage = (stage: ContentStage | undefined): string | undefined => stage && FIELDS[stage];

/** What was refused, as a sentence names it; undefined when the service does not say. */
export function refusedSubject({ stage, field }: RefusedContent): string | undefined {
  if (field !== undefined && !Object.values(FIELDS).includes(field)) return `the field ${field}`;
  return stage && SUBJECTS[stage];
}

/** One of a job's `services` that certainly made no task. */
export interface ServiceRefusal {
  service: string;
  failure: FailureType;
  /** Why, as a sentence. */
  message: string;
}
