import type { ActivityOptions, LocalActivityOptions } from '@temporalio/common';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Measured generations took 83 to 253 s; an hour leaves room for a long queue at the service. */
export const DEFAULT_DEADLINE_MS = HOUR;

/** Enough for an operator to see a lost submit, check at the service and decide, at any time of day. */
export const DEFAULT_HOLD_MS = 24 * HOUR;

/** Longer than a moment's fault, and well below what a video takes to make. */
export const DEFAULT_FALLBACK_AFTER_MS = MINUTE;

/** How many items of a batch run at the same time. */
export const DEFAULT_WINDOW = 20;

export const SUBMIT_POLICY = {
  // Longer than the exchange with the service may take, so that the exchange times out first and says why.
  startToCloseTimeout: 2 * MINUTE,
  // Notices a dead worker soon. A shorter timeout would treat a late heartbeat as a lost submit.
  heartbeatTimeout: 20 * SECOND,
  // A cancelled job still waits for the answer to a request that was sent: see submit-video.ts.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: 2 * SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/**
 * An attempt sends its POST within this time or not at all. It is below the heartbeat timeout, so that an attempt never
 * sends after Temporal gave it up and an operator decided about it.
 */
export const POST_WITHIN_MS = 15 * SECOND;

/** An attempt sends nothing this close to the deadline: the job could end before it knows that a request was sent. */
export const POST_BEFORE_DEADLINE_MS = 500;

/**
 * The ledger continues as new at least this often, so that nothing of it is encrypted with an old key when a namespace's
 * retention, of a day at least, has passed.
 */
export const LONGEST_LEDGER_RUN_MS = 20 * HOUR;

/** An attempt waits so long for the ledger of the caps. Well below POST_WITHIN_MS: the record needs its time too. */
export const LEDGER_WITHIN_MS = 6 * SECOND;

/** For reading the record of a submit that timed out, and for cancelling a task at the service: the job waits for both. */
export const BRIEF_POLICY = {
  startToCloseTimeout: 30 * SECOND,
  scheduleToCloseTimeout: 2 * MINUTE,
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumAttempts: 5 },
} as const satisfies ActivityOptions;

/**
 * For inspecting a pending submit before it is cancelled. It is short, because the submit may still be sent meanwhile. One
 * attempt is enough: Temporal's client retries the call itself.
 */
export const INSPECT_SUBMIT_POLICY = {
  startToCloseTimeout: 10 * SECOND,
  retry: { maximumAttempts: 1 },
} as const satisfies LocalActivityOptions;

/** For asking the worker what it knows by itself. It looks it up in its memory. */
export const ASK_WORKER_POLICY = {
  startToCloseTimeout: 10 * SECOND,
} as const satisfies LocalActivityOptions;

/** Until a local poll ends, queries, signals and cancellations wait. Well below the 5 s after which the SDK warns. */
const LOCAL_POLL_CLOSE_MS = 3_000;
const LOCAL_POLL_RETRY_MS = 500;

/** For a poll as a local activity. */
export const LOCAL_POLL_POLICY = {
  scheduleToCloseTimeout: LOCAL_POLL_CLOSE_MS,
  cancellationType: 'TRY_CANCEL',
  // For a fault of a moment. The polling loop waits out longer ones, and a Retry-After, on its durable timer.
  retry: { initialInterval: LOCAL_POLL_RETRY_MS, maximumAttempts: 2 },
} as const satisfies LocalActivityOptions;

/** For a slow service, and for the last poll. A few attempts for a short fault; then the loop shows the problem and polls later. */
export const POLL_POLICY = {
  startToCloseTimeout: MINUTE,
  // As for a submit: notices a dead worker soon.
  heartbeatTimeout: 20 * SECOND,
  cancellationType: 'TRY_CANCEL',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: 30 * SECOND, maximumAttempts: 5 },
} as const satisfies ActivityOptions;

/** For polling a task that an operator wants to adopt: short, because the operator waits and can decide again. */
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
  // The job ends only after the partial file is deleted.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/** For what the storage says about earlier runs, and the results of a batch. A failing storage is waited for without limit. */
export const RECORD_POLICY = {
  startToCloseTimeout: 2 * MINUTE,
  retry: { initialInterval: SECOND, backoffCoefficient: 2, maximumInterval: MINUTE },
} as const satisfies ActivityOptions;

/** For reading the requests of a batch. */
export const REQUESTS_POLICY = { ...RECORD_POLICY, scheduleToCloseTimeout: 24 * HOUR } as const;

/** An attempt writes nothing later than this: its write could overwrite that of the next attempt. */
export const RECORD_WITHIN_MS = 45 * SECOND;

/** A batch writes its results to the storage when it has this many. */
export const RESULTS_AT_ONCE = 100;

/** The results travel in one activity input. */
export const RESULT_BYTES_AT_ONCE = 500_000;

/** How many requests a batch reads at once: as many as fit, and at least one. */
export const REQUESTS_AT_ONCE = 200;
export const REQUEST_BYTES_AT_ONCE = 200_000;

/** A batch continues as new about every thousand items, which cost it 4 to 9 events each: it lets the running ones end first. */
export const LONGEST_BATCH_HISTORY_EVENTS = 9_000;
/** The requests of its items are in its history. Temporal ends a workflow at 50 MB. */
export const LARGEST_BATCH_HISTORY_BYTES = 10_000_000;

/** For waiting for a job that somebody else has started: an attempt asks once, and they go on as long as it runs. */
export const AWAIT_JOB_POLICY = {
  startToCloseTimeout: 30 * SECOND,
  // A job that is cancelled with its parent ends soon, and the attempts with it.
  cancellationType: 'ABANDON',
  retry: { initialInterval: SECOND, backoffCoefficient: 1.2, maximumInterval: 20 * SECOND },
} as const satisfies ActivityOptions;

/** About 13 attempts in three days: soon after a short fault, and twice a day for a receiver that is down for long. */
export const WEBHOOK_POLICY = {
  // Longer than the call of a receiver may take, so that the call times out first and says why.
  startToCloseTimeout: 30 * SECOND,
  scheduleToCloseTimeout: 72 * HOUR,
  retry: { initialInterval: 5 * SECOND, backoffCoefficient: 3, maximumInterval: 12 * HOUR },
} as const satisfies ActivityOptions;

/** A webhook that no worker has delivered until then is not delivered. */
export const WEBHOOK_AT_MOST_MS = 96 * HOUR;

/** Far larger than any video that services make today; it ends a response that never ends. */
export const LARGEST_VIDEO_BYTES = 2 * 1024 ** 3;

/** When a connection is too slow. The next one resumes where it stopped. */
export const DOWNLOAD_PACE = {
  windowMs: 30 * SECOND,
  /** In each window; a slower connection is replaced. */
  leastBytes: 32 * 1024,
};

/** An attempt gives up after this many connections in a row that brought less than FRUITFUL_BYTES. */
export const FRUITLESS_CONNECTIONS = 3;
export const FRUITFUL_BYTES = 64 * 1024;

/** A finished, paid video is downloaded even when the deadline has passed. */
export const DOWNLOAD_AT_LEAST_MS = 10 * MINUTE;

/** The last poll, at the deadline, gets the time of one attempt. */
export const POLL_AT_LEAST_MS = MINUTE;

/** Well below the heartbeat timeouts above; the SDK throttles what it sends. */
export const HEARTBEAT_EVERY_MS = 2 * SECOND;

/** After a failed poll the next one waits longer each time, from twice the first of these up to the second. */
export const FAILED_POLL_LEAST_MS = 3 * SECOND;
export const FAILED_POLL_MOST_MS = 2 * MINUTE;

/** Some services report "succeeded" a minute before the link is there. The polls wait longer each time, as failed ones do. */
export const POLLS_WITHOUT_VIDEO = 5;

/** A job continues as new here, so that replay stays quick. The server would suggest it near 6,000 events. */
export const LONGEST_HISTORY_EVENTS = 2_000;

/** A shorter run does not continue as new: if the input alone makes the history long, the next run is no shorter. */
export const SHORTEST_HISTORY_EVENTS = 20;

export const RETRY_AFTER_MIN_MS = SECOND;
/** A service that asks for a longer wait is called again after this, in case the limit was lifted. */
export const RETRY_AFTER_MAX_MS = 10 * MINUTE;
/** A random part on top, so that jobs with the same Retry-After do not return together. */
export const RETRY_AFTER_JITTER = 0.1;
