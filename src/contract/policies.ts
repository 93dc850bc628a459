import type { ActivityOptions, LocalActivityOptions } from '@temporalio/common';
import type { FailureType } from './failure-table';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Generations were measured at 83 to 253 s; an hour leaves room for a long queue at the service. */
export const DEFAULT_DEADLINE_MS = HOUR;

/** Time for somebody to read of a lost submit, look at the service and decide, whatever the hour. */
export const DEFAULT_HOLD_MS = 24 * HOUR;

/**
 * The longest that one exchange with the service may take, from the connection to the last byte of the answer. Each is below
 * the time of the activities that make it, so that an answer that trickles ends as what it is (a lost submit, a failed poll),
 * and a worker that drains comes to its end. A look may be two exchanges: one for the task, one for its link.
 */
export const SUBMIT_EXCHANGE_MS = 90 * SECOND;
export const POLL_EXCHANGE_MS = 25 * SECOND;
/** Of a download only up to the first byte of the video, redirects included: DOWNLOAD_PACE watches the rest. */
export const OPEN_VIDEO_MS = 2 * MINUTE;

/** The longest that one POST may take: longer than SUBMIT_EXCHANGE_MS, so that the exchange's own end speaks first. */
export const SUBMIT_POLICY = {
  startToCloseTimeout: 2 * MINUTE,
  // Attempts beat while they await the answer, so a dead worker is noticed soon. Not sooner: a late beat would take a
  // good answer for a lost one.
  heartbeatTimeout: 20 * SECOND,
  // A cancelled job still learns the answer of a request that has left: see submit-video.ts.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: 2 * SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/** A storage that takes longer to read or write a record of a few kilobytes is as good as one that fails. */
export const RECORD_IO_MS = 5 * SECOND;

/**
 * A POST leaves within this of its attempt's start, or not at all: below the heartbeat timeout, so that Temporal cannot
 * have given the attempt up, and somebody decided on it, before its request leaves.
 */
export const POST_WITHIN_MS = 15 * SECOND;

/** A POST does not leave so shortly before the job's deadline: what it left could not be told from what came after it. */
export const POST_BEFORE_DEADLINE_MS = 500;

/** Of the look at the record of a submit whose time ran out. */
export const RECALL_POLICY = {
  startToCloseTimeout: 30 * SECOND,
  scheduleToCloseTimeout: 2 * MINUTE,
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumAttempts: 5 },
} as const satisfies ActivityOptions;

/**
 * Of the look at a submit before it is cancelled. It is short, because until then the submit may still be sent, and it is
 * one attempt: Temporal's client makes more of its call by itself.
 */
export const LOST_SUBMIT_POLICY = {
  startToCloseTimeout: 10 * SECOND,
  retry: { maximumAttempts: 1 },
} as const satisfies LocalActivityOptions;

/** A few attempts for a blip; after them the waiting loop notes the problem, shows it and looks again later. */
export const POLL_POLICY = {
  startToCloseTimeout: MINUTE,
  // A worker that was killed while looking is noticed as soon as one that was killed while submitting.
  heartbeatTimeout: 20 * SECOND,
  cancellationType: 'TRY_CANCEL',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: 30 * SECOND, maximumAttempts: 5 },
} as const satisfies ActivityOptions;

/**
 * Of the lookup of a task that somebody wants to adopt. They wait for it, and can decide again: a blip is tried again, and
 * no more.
 */
export const ADOPT_POLICY = {
  startToCloseTimeout: 30 * SECOND,
  scheduleToCloseTimeout: MINUTE,
  heartbeatTimeout: 20 * SECOND,
  cancellationType: 'TRY_CANCEL',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumAttempts: 3 },
} as const satisfies ActivityOptions;

export const DOWNLOAD_POLICY = {
  // A 2 GiB file at 5 Mbit/s.
  startToCloseTimeout: HOUR,
  heartbeatTimeout: 20 * SECOND,
  // The job ends only when the half-written file is gone.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/** A look at many tasks: those there was no time for are told so, and are looked at next time. */
export const SHARED_POLL_POLICY = {
  startToCloseTimeout: 3 * MINUTE,
  scheduleToCloseTimeout: 10 * MINUTE,
  heartbeatTimeout: 20 * SECOND,
  cancellationType: 'TRY_CANCEL',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: 30 * SECOND },
} as const satisfies ActivityOptions;

/** No look of a shared activity begins later than this. */
export const SHARED_POLL_MS = MINUTE;
/** Tasks that one activity looks at, and how many at once. */
export const TASKS_PER_POLL = 50;
export const POLLS_AT_ONCE = 8;

/** Of the results of a batch. A storage that fails is waited for, however long: what was paid for is noted there. */
export const RECORD_POLICY = {
  startToCloseTimeout: 2 * MINUTE,
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/** Of the requests of a batch. */
export const REQUESTS_POLICY = { ...RECORD_POLICY, scheduleToCloseTimeout: 24 * HOUR } as const;

/** Nothing is written later in an attempt: with the time of the write itself it would come after that of the next one. */
export const RECORD_WITHIN_MS = 45 * SECOND;

/** Results that a batch keeps in its history before it writes them down. */
export const RESULTS_AT_ONCE = 100;

/** They go through Temporal in one input. */
export const RESULT_BYTES_AT_ONCE = 500_000;
/** Of one text in a result: whoever wrote it, it stands beside a hundred others. */
export const LONGEST_RESULT_TEXT_BYTES = 4_000;
export const MOST_RESULT_WARNINGS = 20;

/** Requests that a batch reads at once: as many as fit, and one at least. */
export const REQUESTS_AT_ONCE = 200;
export const REQUEST_BYTES_AT_ONCE = 200_000;

/**
 * Of one text (a service's word, the message of a problem) that a job takes along when it continues as new. The items of a
 * batch share the second, so that what 500 of them take along stays below 1 MiB, whatever their services wrote.
 */
export const LONGEST_CARRIED_TEXT_BYTES = 2_000;
export const CARRIED_TEXT_BYTES = 50_000;

/** A batch of many items writes more, and is replayed as a whole when its worker is lost. */
export const LONGEST_BATCH_HISTORY_EVENTS = 4_000;

/** For so long a batch with a long history holds its looks back, so that nothing is under way and it can continue as new. */
export const BATCH_REST_MS = 30 * SECOND;

/** A courtesy to the service, which does not keep a cancelled job from ending for long. */
export const CANCEL_POLICY = {
  startToCloseTimeout: 30 * SECOND,
  scheduleToCloseTimeout: MINUTE,
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumAttempts: 3 },
} as const satisfies ActivityOptions;

/** Of what waiting does not fix: a full disk, a file that is no video. The task can be adopted when somebody has. */
export const MOST_DOWNLOAD_ATTEMPTS: Partial<Record<FailureType, number>> = {
  StorageFailed: 5,
  VideoCorrupt: 5,
  // About two minutes: some services name a link before their storage has the file everywhere.
  VideoUnavailable: 8,
};

/** Longer than any video that services make today by far; a body without an end is cut off there. */
export const LARGEST_VIDEO_BYTES = 2 * 1024 ** 3;

/** When a download goes too slowly or takes too long to be waited for. The next attempt goes on where it was. */
export const DOWNLOAD_PACE = {
  windowMs: 30 * SECOND,
  /** Within the window; a line that is slower is better tried anew. */
  leastBytes: 32 * 1024,
  /** Ends an attempt before Temporal does, which would lose what was written since the last heartbeat. */
  attemptMs: 50 * MINUTE,
};

/** Connections of one attempt that bring next to nothing, one after another, before Temporal's retry policy pauses. */
export const FRUITLESS_CONNECTIONS = 3;
export const FRUITFUL_BYTES = 64 * 1024;

/** A download that takes longer tells its job how far it is: a signal each time, which costs an Action. */
export const DOWNLOAD_PROGRESS_EVERY_MS = 10 * SECOND;

/** A finished, paid video is worth fetching even when the deadline has come. */
export const DOWNLOAD_AT_LEAST_MS = 10 * MINUTE;

/** The look at the deadline itself gets the time of one attempt. */
export const POLL_AT_LEAST_MS = MINUTE;

/** Half of the heartbeat timeouts above would do; more often costs nothing, the SDK throttles what is sent. */
export const HEARTBEAT_EVERY_MS = 2 * SECOND;

/** Some services answer 404 for a moment after the submit, until the task has reached their database. */
export const UNKNOWN_TASK_GRACE_MS = 2 * MINUTE;

/** A task that is not found so often in a row is gone. */
export const POLLS_WITHOUT_TASK = 3;

/** "Succeeded" is sometimes seen before the link is written. */
export const POLLS_WITHOUT_VIDEO = 3;

/** Of how many unknown words a job remembers that it warned. */
export const MOST_WARNED_WORDS = 20;

/** Replaying a job on another worker stays quick; the server itself suggests it near 6,000. */
export const LONGEST_HISTORY_EVENTS = 2_000;

/** A run that has done less goes on: where a large input alone is a long history, the next would be no shorter. */
export const SHORTEST_HISTORY_EVENTS = 20;

export const RETRY_AFTER_MIN_MS = SECOND;
/** A service that asks for more is asked again after this, in case the limit was lifted. */
export const RETRY_AFTER_MAX_MS = 10 * MINUTE;
/** Added on top, at random, so that jobs told the same time do not come back together. */
export const RETRY_AFTER_JITTER = 0.1;
