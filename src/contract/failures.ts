import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';

/** The three calls of a job that touch the world. */
export type Call = 'submit' | 'check' | 'download';

/**
 * What happens when a call meets a failure:
 * `never` ends the job; `policy` is tried again by Temporal's retry policy; `look-again` is left to the waiting loop,
 * which looks again later; `-` cannot happen there. Whatever is tried again is bounded by the job's deadline.
 */
export type Retry = 'never' | 'policy' | 'look-again' | '-';

export interface FailureRow {
  meaning: string;
  advice: string;
  retry: Record<Call, Retry>;
  /** The HTTP status with which a gateway tells it. */
  gatewayStatus: number;
  /** The exit code of a command that ends with it. */
  exitCode: number;
}

/** Every way in which a job can fail. Activities, workflow, exit codes and the README's table all read this one. */
export const FAILURES = {
  InvalidRequest: {
    meaning: 'The request was refused',
    advice: 'Change the request as the message says and start a new job.',
    retry: { submit: 'never', check: '-', download: '-' },
    gatewayStatus: 400,
    exitCode: 2,
  },
  Unauthorized: {
    meaning: 'The service refused the API key',
    advice:
      'Set VIDEO_API_KEY or VIDEO_API_KEY_FILE to a valid key; a task that exists is looked at again by itself.',
    retry: { submit: 'never', check: 'look-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 3,
  },
  RateLimited: {
    meaning: 'The service allows no more requests at the moment',
    advice: 'Start fewer jobs at once, or ask the service for a higher limit.',
    retry: { submit: 'policy', check: 'policy', download: 'policy' },
    gatewayStatus: 429,
    exitCode: 4,
  },
  ServiceFailed: {
    meaning: 'The service answered with an error of its own',
    advice: 'Look at the status page of the service; start the job again when it is well.',
    retry: { submit: 'policy', check: 'policy', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 5,
  },
  ServiceUnreachable: {
    meaning: 'The service could not be reached',
    advice: 'Check VIDEO_API_BASE_URL and the network of the worker.',
    retry: { submit: 'policy', check: 'policy', download: 'policy' },
    gatewayStatus: 503,
    exitCode: 6,
  },
  AnswerUnreadable: {
    meaning: 'The service answered something that is not in its interface',
    advice: 'Check that VIDEO_API_BASE_URL is the address of the video service.',
    retry: { submit: 'never', check: 'policy', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 7,
  },
  SubmitUnconfirmed: {
    meaning: 'The request was sent and no task id came back, so a task may exist and be paid for',
    advice:
      'Look for the task at the service; adopt it with its task id, or start a new job if there is none.',
    retry: { submit: 'never', check: '-', download: '-' },
    gatewayStatus: 502,
    exitCode: 8,
  },
  TaskUnknown: {
    meaning: 'The service does not know the task',
    advice: 'Check the task id, and that the API key belongs to the account that submitted it.',
    retry: { submit: '-', check: 'look-again', download: 'policy' },
    gatewayStatus: 404,
    exitCode: 9,
  },
  GenerationFailed: {
    meaning: 'The service could not generate the video',
    advice: 'Read what the service said, change the request if it is to blame, and start a new job.',
    retry: { submit: '-', check: 'never', download: 'never' },
    gatewayStatus: 422,
    exitCode: 10,
  },
  GenerationCancelled: {
    meaning: 'The task was cancelled at the service',
    advice: 'Start a new job if the video is still wanted.',
    retry: { submit: '-', check: 'never', download: 'never' },
    gatewayStatus: 409,
    exitCode: 11,
  },
  NoVideo: {
    meaning: 'The service says that the task succeeded and names no video',
    advice: 'Look at the task at the service; adopt it with its task id once the video is there.',
    retry: { submit: '-', check: 'look-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 12,
  },
  VideoUnavailable: {
    meaning: 'The link to the video was refused',
    advice: 'Adopt the task with its task id to ask for a new link; videos expire at most services.',
    retry: { submit: '-', check: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 13,
  },
  VideoCorrupt: {
    meaning: 'What was downloaded is not the whole video',
    advice: 'Adopt the task with its task id to download it again.',
    retry: { submit: '-', check: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 14,
  },
  StorageFailed: {
    meaning: 'The video could not be stored',
    advice:
      'Check VIDEOGEN_STORAGE (it exists, is writable, has room), then adopt the task with its task id.',
    retry: { submit: '-', check: '-', download: 'policy' },
    gatewayStatus: 507,
    exitCode: 15,
  },
  DeadlineExceeded: {
    meaning: 'The deadline of the job passed before the video was ready',
    advice: 'The service may still finish it: adopt the task with its task id and a longer deadline.',
    retry: { submit: '-', check: '-', download: '-' },
    gatewayStatus: 504,
    exitCode: 16,
  },
  Cancelled: {
    meaning: 'The job was cancelled',
    advice:
      'The service may go on with the task: adopt it with its task id if the video is wanted after all.',
    retry: { submit: '-', check: '-', download: '-' },
    gatewayStatus: 409,
    exitCode: 17,
  },
} as const satisfies Record<string, FailureRow>;

export type FailureType = keyof typeof FAILURES;

export function isFailureType(type: unknown): type is FailureType {
  return typeof type === 'string' && Object.hasOwn(FAILURES, type);
}

/** What is known of one failure, beside its type: the first of an ApplicationFailure's `details`. */
export interface FailureDetails {
  taskId?: string;
  /** The HTTP status of the answer. */
  status?: number;
  /** The service's own code and words, cut and cleaned. */
  code?: string;
  message?: string;
  retryAfterMs?: number;
  attempt?: number;
}

const LONGEST_SAID = 500;

const ESCAPE = '\u001b';
const BELL = '\u0007';
/** Colours and window titles, which would leave `[31m` or `]0;` behind when only their control characters go. */
const TERMINAL_SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
  'g',
);

/** A service's words as they may stand in a log, a history or a terminal. */
export function cleanText(text: string, longest = LONGEST_SAID): string {
  const clean = text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  if (clean.length <= longest) return clean;
  const halfCharacter = /\p{Cs}$/u;
  return `${clean.slice(0, longest - 1).replace(halfCharacter, '')}…`;
}

/** What happened, to which task, and what to do. */
export function describeFailure(type: FailureType, details: FailureDetails = {}): string {
  const { meaning, advice } = FAILURES[type];
  const task = details.taskId ? ` (task ${details.taskId})` : '';
  const status = details.status ? `HTTP ${details.status}` : '';
  const said = [status, details.code, details.message].filter(Boolean).join(' ');
  const happened = `${meaning}${task}${said && `: ${said.replace(/[.\s]+$/, '')}`}`;
  return `${happened}${/[?!…]$/.test(happened) ? '' : '.'} ${advice}`;
}

export interface CreateFailureOptions {
  /** Whether Temporal's retry policy may try the activity again. */
  retryable?: boolean;
  nextRetryDelayMs?: number;
  cause?: Error;
}

export function createFailure(
  type: FailureType,
  details: FailureDetails = {},
  { retryable = false, nextRetryDelayMs, cause }: CreateFailureOptions = {},
): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: describeFailure(type, details),
    details: [details],
    nonRetryable: !retryable,
    nextRetryDelay: nextRetryDelayMs,
    cause,
  });
}

/** A failed job as a caller meets it. */
export class VideoFailure extends Error {
  override readonly name = 'VideoFailure';

  constructor(
    readonly type: FailureType,
    readonly details: FailureDetails = {},
    options?: ErrorOptions,
  ) {
    super(describeFailure(type, details), options);
  }

  get taskId(): string | undefined {
    return this.details.taskId;
  }

  get advice(): string {
    return FAILURES[this.type].advice;
  }

  get exitCode(): number {
    return FAILURES[this.type].exitCode;
  }
}

export function isVideoFailure(error: unknown, type?: FailureType): error is VideoFailure {
  return error instanceof VideoFailure && (type === undefined || error.type === type);
}

/** The row of the table behind an error that came through Temporal, however deep it is wrapped. */
export function readFailure(error: unknown): VideoFailure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof VideoFailure) return cause;
    if (cause instanceof CancelledFailure) return new VideoFailure('Cancelled', {}, { cause: error });
    if (cause instanceof ApplicationFailure && isFailureType(cause.type)) {
      return new VideoFailure(cause.type, readDetails(cause.details?.[0]), { cause: error });
    }
  }
  return undefined;
}

/** True when an activity ended because its time ran out, not because of what it met. */
export function isTimeout(error: unknown): boolean {
  return error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
}

const DETAIL_KINDS: Record<string, string> = {
  taskId: 'string',
  status: 'number',
  code: 'string',
  message: 'string',
  retryAfterMs: 'number',
  attempt: 'number',
} satisfies Record<keyof FailureDetails, 'string' | 'number'>;

/** What crosses Temporal is our own createFailure's details or, from another version or language, any shape. */
function readDetails(value: unknown): FailureDetails {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter(([name, part]) => typeof part === DETAIL_KINDS[name]),
  );
}
