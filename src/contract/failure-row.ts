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
  /** True if a job that fails so without a task id paid for nothing: the same name and request may start again. */
  paidNothing: boolean;
  /** True if trying again would fail the same way or might pay twice: a batch does not start such an item again. */
  isFinal: boolean;
  /** True if the task of such a job may still bring a video, so that adopting it is worth a try. */
  worthAdopting: boolean;
  /**
   * Set if a submit that fails so made no task because of this service, so that the next of a job's `services` may be tried
   * if no answer before it left a task possible: `always`, or `if-answered`, because our own checks refuse in the same way what no
   * service should get.
   */
  fallsBack?: 'always' | 'if-answered';
  /** Ends the retries of a download that they rarely fix, such as a full disk. The deadline is the only limit by default. */
  mostDownloadAttempts?: number;
}
