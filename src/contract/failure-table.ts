/** The three calls that a job makes to the service. */
export type Call = 'submit' | 'poll' | 'download';

/**
 * What happens after a failure of a call: `never` ends the job; `policy` leaves it to Temporal's retry policy;
 * `poll-again` leaves it to the next poll; `hold` waits for a decision, unless `onLostSubmit` says otherwise;
 * `-` cannot happen. The job's deadline bounds every retry.
 */
export type Retry = 'never' | 'policy' | 'poll-again' | 'hold' | '-';

/** What the table says about one failure type. */
export interface FailureRow {
  /** What happened, as the first sentence of the message. */
  meaning: string;
  /** What to do about it. */
  advice: string;
  retry: Record<Call, Retry>;
  /** The HTTP status that the gateway answers with. */
  gatewayStatus: number;
  /** The exit code of the command. */
  exitCode: number;
}

/** Every way a job can fail. Activities, workflows, exit codes and the documented table all read this one. */
export const FAILURES = {
  InvalidRequest: {
    meaning: 'The request was refused',
    advice: 'Change the request as the message says and start a new job.',
    retry: { submit: 'never', poll: '-', download: '-' },
    gatewayStatus: 400,
    exitCode: 2,
  },
  Unauthorized: {
    meaning: 'The service refused the API key or its account',
    advice:
      'Set VIDEO_API_KEY or VIDEO_API_KEY_FILE to the key of an account with credit. A job that has its task already continues on its own.',
    retry: { submit: 'never', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 3,
  },
  RateLimited: {
    meaning: 'The service accepts no more requests at the moment',
    advice: 'Start fewer jobs at once, or ask the service for a higher limit.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    gatewayStatus: 429,
    exitCode: 4,
  },
  ServiceFailed: {
    meaning: 'The service answered with a server error',
    advice: 'Check the status page of the service, and start the job again when the service has recovered.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 5,
  },
  ServiceUnreachable: {
    meaning: 'The service could not be reached',
    advice: 'Check VIDEO_API_BASE_URL and the network of the worker.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    gatewayStatus: 503,
    exitCode: 6,
  },
  AnswerUnreadable: {
    meaning: 'The answer of the service could not be understood',
    advice: 'Check that VIDEO_API_BASE_URL is the address of the video service.',
    retry: { submit: 'never', poll: 'policy', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 7,
  },
  SubmitUnconfirmed: {
    meaning: 'The request was sent but no task id came back, so a paid task may exist',
    advice:
      'Check at the service whether the task exists. If it does, adopt it with its task id; submit again only if it does not. While the job is held, decide with videogen decide, or in the Temporal UI: More Actions, Send an Update, decideSubmit.',
    retry: { submit: 'hold', poll: '-', download: '-' },
    gatewayStatus: 502,
    exitCode: 8,
  },
  TaskUnknown: {
    meaning: 'The service does not know the task',
    advice: 'Check the task id, and that the API key belongs to the account that submitted the task.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 404,
    exitCode: 9,
  },
  GenerationFailed: {
    meaning: 'The service could not generate the video',
    advice: 'Read the message of the service, change the request if that is the cause, and start a new job.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    gatewayStatus: 422,
    exitCode: 10,
  },
  GenerationCancelled: {
    meaning: 'The task was cancelled at the service',
    advice: 'Start a new job if you still want the video.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    gatewayStatus: 409,
    exitCode: 11,
  },
  NoVideo: {
    meaning: 'The task succeeded, but the service gave no link to a video',
    advice:
      'Check the task at the service, and adopt it with its task id as soon as it has a video. If it has one already, the service needs a profile: run videogen explain to get one.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 12,
  },
  VideoUnavailable: {
    meaning: 'The link to the video was refused',
    advice: 'Adopt the task with its task id to get a new link. Most services delete videos after some time.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 13,
  },
  VideoCorrupt: {
    meaning: 'The download is not a complete video',
    advice:
      'Adopt the task with its task id to download it again. Set keepBad (--keep-bad) to keep the bad file.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 14,
  },
  VideoTooLarge: {
    meaning: 'The video is larger than the worker may store',
    advice:
      'Raise VIDEOGEN_LARGEST_VIDEO on workers with enough space, then adopt the task with its task id.',
    retry: { submit: '-', poll: '-', download: 'never' },
    gatewayStatus: 502,
    exitCode: 20,
  },
  StorageFailed: {
    meaning: 'The storage could not be read or written',
    advice:
      'Run videogen doctor where the worker runs to check VIDEOGEN_STORAGE, and make sure that no other file has the key of the video. Then adopt the task with its task id, or start the job again if it has no task.',
    retry: { submit: 'policy', poll: '-', download: 'policy' },
    gatewayStatus: 507,
    exitCode: 15,
  },
  DeadlineExceeded: {
    meaning: 'The deadline of the job passed before the video was ready',
    advice:
      'Adopt the task with its task id and a longer deadline: the service may still finish it. If the job has no task, start it again.',
    retry: { submit: '-', poll: '-', download: '-' },
    gatewayStatus: 504,
    exitCode: 16,
  },
  Unexpected: {
    meaning: 'An unexpected error occurred',
    advice: 'Read the message and the log of the worker. If the job has a task, adopt it with its task id.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 500,
    exitCode: 18,
  },
  Cancelled: {
    meaning: 'The job was cancelled',
    advice:
      'The service may still finish the task, unless it accepted the cancellation. If you want the video after all, adopt the task with its task id.',
    retry: { submit: '-', poll: '-', download: '-' },
    gatewayStatus: 409,
    exitCode: 17,
  },
} as const satisfies Record<string, FailureRow>;

/** The type of a failure: a key of FAILURES. */
export type FailureType = keyof typeof FAILURES;

/**
 * Whether a job that failed without a task id has paid for nothing: the service refused the request, or none was sent.
 * The same request may then start again under the same name.
 */
export const NOTHING_SENT: Record<FailureType, boolean> = {
  InvalidRequest: true,
  Unauthorized: true,
  RateLimited: true,
  ServiceFailed: true,
  ServiceUnreachable: true,
  // The address does not belong to a video service.
  AnswerUnreadable: true,
  SubmitUnconfirmed: false,
  TaskUnknown: false,
  GenerationFailed: false,
  GenerationCancelled: false,
  NoVideo: false,
  VideoUnavailable: false,
  VideoCorrupt: false,
  VideoTooLarge: false,
  // Without a task, the storage failed before the submit.
  StorageFailed: true,
  // Without a task, no worker picked the submit up.
  DeadlineExceeded: true,
  Unexpected: false,
  // A cancellation after the request was sent ends with the task id or as SubmitUnconfirmed.
  Cancelled: true,
};

/** Keeps a host's own failure of type `Unauthorized` apart from ours. */
const PREFIX = 'videogen.';

/** The type that a failure of this package has in Temporal. */
export function toTemporalType(type: FailureType | 'DecisionRefused'): string {
  return `${PREFIX}${type}`;
}

/** The failure type behind a type that Temporal delivered; undefined when the failure is not from this package. */
export function fromTemporalType(type: unknown): FailureType | undefined {
  if (typeof type !== 'string' || !type.startsWith(PREFIX)) return undefined;
  const row = type.slice(PREFIX.length);
  return isFailureType(row) ? row : undefined;
}

/**
 * True for a type of the failure table.
 *
 * @example
 * ```ts
 * if (isFailureType(text)) console.log(FAILURES[text].advice);
 * ```
 */
export function isFailureType(type: unknown): type is FailureType {
  return typeof type === 'string' && Object.hasOwn(FAILURES, type);
}
