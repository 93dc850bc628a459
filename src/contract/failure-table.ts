/** The three calls of a job that touch the world. */
export type Call = 'submit' | 'poll' | 'download';

/**
 * What happens when a call meets a failure:
 * `never` ends the job; `policy` is tried again by Temporal's retry policy; `poll-again` is left to the waiting loop,
 * which looks again later; `hold` waits for a decision, or does what `onLostSubmit` says; `-` cannot happen there.
 * Whatever is tried again is bounded by the job's deadline.
 */
export type Retry = 'never' | 'policy' | 'poll-again' | 'hold' | '-';

export interface FailureRow {
  meaning: string;
  advice: string;
  retry: Record<Call, Retry>;
  /** The HTTP status with which a gateway tells it. */
  gatewayStatus: number;
  /** The exit code of a command that ends with it. */
  exitCode: number;
}

/** Every way in which a job can fail. Activities, workflow, exit codes and the tables of the documentation all read this one. */
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
      'Set VIDEO_API_KEY or VIDEO_API_KEY_FILE to a key of an account with credit; a task that exists is looked at again by itself.',
    retry: { submit: 'never', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 3,
  },
  RateLimited: {
    meaning: 'The service allows no more requests at the moment',
    advice: 'Start fewer jobs at once, or ask the service for a higher limit.',
    retry: { submit: 'policy', poll: 'policy', download: 'policy' },
    gatewayStatus: 429,
    exitCode: 4,
  },
  ServiceFailed: {
    meaning: 'The service answered with an error of its own',
    advice: 'Look at the status page of the service; start the job again when it is well.',
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
    meaning: 'The service answered something that is not in its interface',
    advice: 'Check that VIDEO_API_BASE_URL is the address of the video service.',
    retry: { submit: 'never', poll: 'policy', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 7,
  },
  SubmitUnconfirmed: {
    meaning: 'The request was sent and no task id came back, so a task may exist and be paid for',
    advice:
      'Look for the task at the service: adopt it with its task id if it is there, and send the request again only if it is not.',
    retry: { submit: 'hold', poll: '-', download: '-' },
    gatewayStatus: 502,
    exitCode: 8,
  },
  TaskUnknown: {
    meaning: 'The service does not know the task',
    advice: 'Check the task id, and that the API key belongs to the account that submitted it.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 404,
    exitCode: 9,
  },
  GenerationFailed: {
    meaning: 'The service could not generate the video',
    advice: 'Read what the service said, change the request if it is to blame, and start a new job.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    gatewayStatus: 422,
    exitCode: 10,
  },
  GenerationCancelled: {
    meaning: 'The task was cancelled at the service',
    advice: 'Start a new job if the video is still wanted.',
    retry: { submit: '-', poll: 'never', download: 'never' },
    gatewayStatus: 409,
    exitCode: 11,
  },
  NoVideo: {
    meaning: 'The service says that the task succeeded and names no video',
    advice:
      'Look at the task at the service and adopt it with its task id once the video is there. If it is there already, the service needs a profile: videogen explain proposes one.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 12,
  },
  VideoUnavailable: {
    meaning: 'The link to the video was refused',
    advice: 'Adopt the task with its task id to ask for a new link; videos expire at most services.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 13,
  },
  VideoCorrupt: {
    meaning: 'What was downloaded is no whole video',
    advice:
      'Adopt the task with its task id to download it again; with keepBad (--keep-bad) what came is kept.',
    retry: { submit: '-', poll: '-', download: 'policy' },
    gatewayStatus: 502,
    exitCode: 14,
  },
  VideoTooLarge: {
    meaning: 'The video is larger than a worker may store',
    advice: 'Raise VIDEOGEN_LARGEST_VIDEO on workers with room for it, then adopt the task with its task id.',
    retry: { submit: '-', poll: '-', download: 'never' },
    gatewayStatus: 502,
    exitCode: 20,
  },
  StorageFailed: {
    meaning: 'The video could not be stored',
    advice:
      'Let videogen doctor check VIDEOGEN_STORAGE where the worker runs, see that no other file is in the place, then adopt the task with its task id, or start the job again if it has none.',
    retry: { submit: 'policy', poll: '-', download: 'policy' },
    gatewayStatus: 507,
    exitCode: 15,
  },
  DeadlineExceeded: {
    meaning: 'The deadline of the job passed before the video was ready',
    advice: 'The service may still finish it: adopt the task with its task id and a longer deadline.',
    retry: { submit: '-', poll: '-', download: '-' },
    gatewayStatus: 504,
    exitCode: 16,
  },
  Unexpected: {
    meaning: 'Something happened that the program does not know',
    advice: 'Read the message and the log of the worker; a task that exists can be adopted with its task id.',
    retry: { submit: '-', poll: 'poll-again', download: 'policy' },
    gatewayStatus: 500,
    exitCode: 18,
  },
  Cancelled: {
    meaning: 'The job was cancelled',
    advice:
      'The service may go on with the task unless it could be told to stop: adopt it with its task id if the video is wanted after all.',
    retry: { submit: '-', poll: '-', download: '-' },
    gatewayStatus: 409,
    exitCode: 17,
  },
} as const satisfies Record<string, FailureRow>;

export type FailureType = keyof typeof FAILURES;

/** Before the types of our failures in Temporal, so that a host's own `Unauthorized` is never taken for ours. */
const PREFIX = 'videogen.';

/** The type with which a failure of ours crosses Temporal. */
export function toTemporalType(type: FailureType | 'DecisionRefused'): string {
  return `${PREFIX}${type}`;
}

/** The row behind a type that came through Temporal; undefined when it is somebody else's. */
export function fromTemporalType(type: unknown): FailureType | undefined {
  if (typeof type !== 'string' || !type.startsWith(PREFIX)) return undefined;
  const row = type.slice(PREFIX.length);
  return isFailureType(row) ? row : undefined;
}

export function isFailureType(type: unknown): type is FailureType {
  return typeof type === 'string' && Object.hasOwn(FAILURES, type);
}
