import type { FailureType } from './failure-table';

/**
 * Whether a job that failed so, without a task id, has sent nothing that may be paid for: the service refused it, or no
 * request left. The name of such a job is free for the same request.
 */
export const NOTHING_SENT: Record<FailureType, boolean> = {
  InvalidRequest: true,
  Unauthorized: true,
  RateLimited: true,
  ServiceFailed: true,
  ServiceUnreachable: true,
  // Nothing at the address generates videos.
  AnswerUnreadable: true,
  SubmitUnconfirmed: false,
  TaskUnknown: false,
  GenerationFailed: false,
  GenerationCancelled: false,
  NoVideo: false,
  VideoUnavailable: false,
  VideoCorrupt: false,
  VideoTooLarge: false,
  // Without a task it is the storage that was tried before the submit.
  StorageFailed: true,
  // Without a task: no worker took the submit up.
  DeadlineExceeded: true,
  Unexpected: false,
  // A cancellation that came after a request had left is told as its answer, or as SubmitUnconfirmed.
  Cancelled: true,
};
