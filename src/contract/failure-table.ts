/** The three calls that a job makes to the service. */
export type Call = 'submit' | 'poll' | 'download';

/**
 * What happens after a failure of a call. `never`: it ends the job; a poll ends it where workflows/poll.ts says so. `policy`:
 * Temporal's retry policy tries again, until the deadline. `poll-again`: this poll has failed, and the job polls again later,
 * as it does when a poll has used up its retries. `hold`: the call may have paid for a task, so the job waits for a
 * decision, unless `onLostSubmit` says otherwise; only SubmitUnconfirmed is held. `-`: no answer to this call leads here.
 */
export type Retry = 'never' | 'policy' | 'poll-again' | 'hold' | '-';

/** What the table says about one failure type. */
export interface FailureRow {
  /** What happened, as the first sentence of the message. */
  meaning: string;
  /** What to do about it. */
  advice: string;
  retry: Record<Call, Retry>;
  /** The HTTP status that a web service in front of a job may answer with. */
  httpStatus: number;
  /** The exit code of the command; `EXIT` in src/cli/exit-codes.ts has the others. */
  exitCode: number;
  /** Set if trying again would fail the same way or might pay twice: a batch does not start such an item again. */
  isFinal?: boolean;
  /**
   * Set if a submit that fails so made no task because of this service, so that the next of a job's `services` may be tried
   * if no answer before it left a task possible: `always`, or `if-answered`, because our own checks refuse in the same way what no
   * service should get.
   */
  fallsBack?: 'always' | 'if-answered';
  /** Ends the retries of a download that they rarely fix, such as a full disk. The deadline is the only limit by default. */
  mostDownloadAttempts?: number;
}

const ROWS = {
  InvalidRequest: {
    meaning: 'The request was refused',
    advice: 'Change the request as the message says and start a new job.',
    retry: { submit: 'never', poll: '-', download: '-' },
    httpStatus: 400,
    exitCode: 2,
    isFinal: true,
    fallsBack: 'if-answered',
  },
  Unauthorized: {
    meaning: 'The service refused the API key or its account',
    advice:
      'Set VIDEO_API_KEY or VIDEO_API_KEY_FILE to the key of an account with credit. A job that has its task already continues on its own.',
    retry: { submit: 'never', poll: 'poll-again', download: 'policy' },
    httpStatus: 502,
    exitCode: 3,
    fallsBack: 'always',
  },
  RateLimited: {
    meaning: 'The service accepts no more requests at the moment',
    advice: 'Start fewer jobs at once, or ask the service for a higher limit.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    httpStatus: 429,
    exitCode: 4,
    fallsBack: 'always',
  },
  ServiceFailed: {
    meaning: 'The service answered with a server error',
    advice: 'Check the status page of the service, and start the job again when the service has recovered.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    httpStatus: 502,
    exitCode: 5,
    fallsBack: 'always',
  },
  ServiceUnreachable: {
    meaning: 'The service could not be reached',
    advice: 'Check VIDEO_API_BASE_URL and the network of the worker.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    httpStatus: 503,
    exitCode: 6,
    fallsBack: 'always',
  },
  AnswerUnreadable: {
    meaning: 'The answer of the service could not be understood',
    advice: 'Check that VIDEO_API_BASE_URL is the address of the video service.',
    retry: { submit: 'never', poll: 'policy', download: 'policy' },
    httpStatus: 502,
    exitCode: 7,
    fallsBack: 'always',
  },
  SubmitUnconfirmed: {
    meaning: 'The request was sent but no task id came back, so a paid task may exist',
    advice:
      'Check at the service whether the task exists. If it does, adopt it with its task id; submit again only if it does not. While the job is held, decide with videogen decide, or in the Temporal UI: More Actions, Send an Update, decideSubmit.',
    retry: { submit: 'hold', poll: '-', download: '-' },
    httpStatus: 502,
    exitCode: 8,
    isFinal: true,
  },
  TaskUnknown: {
    meaning: 'The service does not know the task',
    advice: 'Check the task id, and that the API key belongs to the account that submitted the task.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    httpStatus: 404,
    exitCode: 9,
  },
  GenerationFailed: {
    meaning: 'The service could not generate the video',
    advice: 'Read the message of the service, change the request if that is the cause, and start a new job.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    httpStatus: 422,
    exitCode: 10,
    isFinal: true,
  },
  ContentRefused: {
    meaning: 'The content policy of the service refused the request or the video',
    advice:
      'Change the prompt or the image and start a new job. Services may suspend accounts that repeat a refused request.',
    retry: { submit: 'never', poll: 'never', download: 'never' },
    httpStatus: 451,
    exitCode: 22,
    isFinal: true,
  },
  GenerationCancelled: {
    meaning: 'The task was cancelled at the service',
    advice: 'Start a new job if you still want the video.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    httpStatus: 409,
    exitCode: 11,
    isFinal: true,
  },
  NoVideo: {
    meaning: 'The task succeeded, but the service gave no link to a video',
    advice:
      'Check the task at the service, and adopt it with its task id as soon as it has a video. If it has one already, the service needs a profile: run videogen explain to get one.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    httpStatus: 502,
    exitCode: 12,
  },
  VideoUnavailable: {
    meaning: 'The link to the video was refused',
    advice: 'Adopt the task with its task id to get a new link. Most services delete videos after some time.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    httpStatus: 502,
    exitCode: 13,
    // About two minutes: some services return a link before the file is available everywhere.
    mostDownloadAttempts: 8,
  },
  VideoCorrupt: {
    meaning: 'The download is not a complete video',
    advice: 'Adopt the task with its task id to download it again.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    httpStatus: 502,
    exitCode: 14,
    mostDownloadAttempts: 5,
  },
  VideoTooLarge: {
    meaning: 'The video is larger than the worker may store',
    advice:
      'Raise VIDEOGEN_LARGEST_VIDEO on workers with enough space, then adopt the task with its task id.',
    retry: { submit: '-', poll: '-', download: 'never' },
    httpStatus: 502,
    exitCode: 20,
    isFinal: true,
  },
  StorageFailed: {
    meaning: 'The storage could not be read or written',
    advice:
      'Run videogen doctor where the worker runs, and make sure that no other file has the key of the video. Then adopt the task with its task id, or start the job again if it has no task.',
    retry: { submit: 'policy', poll: '-', download: 'policy' },
    httpStatus: 507,
    exitCode: 15,
    mostDownloadAttempts: 8,
  },
  DeadlineExceeded: {
    meaning: 'The deadline of the job passed before the video was ready',
    advice:
      'Adopt the task with its task id and a longer deadline: the service may still finish it. If the job has no task, start it again.',
    retry: { submit: 'never', poll: '-', download: '-' },
    httpStatus: 504,
    exitCode: 16,
  },
  Unexpected: {
    meaning: 'An unexpected error occurred',
    advice: 'Read the message and the log of the worker. If the job has a task, adopt it with its task id.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    httpStatus: 500,
    exitCode: 18,
  },
  CapReached: {
    meaning: 'A cap does not allow this video',
    advice:
      'Start the job again when the cap resets, or raise the cap: videogen spend --caps shows what is left.',
    retry: { submit: 'never', poll: '-', download: '-' },
    httpStatus: 402,
    exitCode: 23,
  },
  Cancelled: {
    meaning: 'The job was cancelled',
    advice:
      'The service may still finish the task. If you want the video after all, adopt the task with its task id.',
    retry: { submit: 'never', poll: '-', download: '-' },
    httpStatus: 409,
    exitCode: 17,
  },
} satisfies Record<string, FailureRow>;

/** The type of a failure: a key of FAILURES. */
export type FailureType = keyof typeof ROWS;

/** Every way a job can fail, and all that depends on it. CONTRIBUTING.md says what else a new row needs. */
export const FAILURES: Readonly<Record<FailureType, FailureRow>> = ROWS;

/**
 * Whether a job that fails so without a task id paid for nothing: the same name and request may start again. Of the failures that
 * end a submit, only SubmitUnconfirmed may have made a task.
 */
export function paidNothing(type: FailureType): boolean {
  const { submit } = FAILURES[type].retry;
  return submit === 'never' || submit === 'policy';
}

/** Whether a submit that fails so was refused, by the service or by a cap: a job that ended otherwise may have been stopped midway. */
export function isRefusal(type: FailureType): boolean {
  return FAILURES[type].fallsBack !== undefined || type === 'ContentRefused' || type === 'CapReached';
}

/** Whether the task of such a job brings no video any more, so that nobody need adopt it. */
export function isTaskOver(type: FailureType): boolean {
  return FAILURES[type].retry.poll === 'never';
}

/** Keeps a host's own failure of type `Unauthorized` apart from ours. */
const PREFIX = 'videogen.';

/** The type that a failure of this package has in Temporal. A refused decision fails an update and never a job, so it has no row. */
export function toTemporalType(type: FailureType | 'DecisionRefused'): string {
  return `${PREFIX}${type}`;
}

/** The failure type behind a type that Temporal delivered; undefined when the failure is not from this package. */
export function fromTemporalType(type: unknown): FailureType | undefined {
  const row = typeof type === 'string' && type.startsWith(PREFIX) && type.slice(PREFIX.length);
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
