/** The names that callers in any language use. */
export const WORKFLOW_TYPE = 'generateVideo';
export const BATCH_WORKFLOW_TYPE = 'generateVideos';
/** The Nexus service for callers in other namespaces. */
export const NEXUS_SERVICE = 'VideoGeneration';
export const PROGRESS_QUERY = 'progress';
export const WAIT_FOR_TASK_UPDATE = 'waitForTask';
export const DECIDE_SUBMIT_UPDATE = 'decideSubmit';
/** The same decision as a signal, for a workflow that accepts no more updates. A signal has no answer. */
export const DECIDE_SUBMIT_SIGNAL = 'decideSubmit';
export const POLL_NOW_SIGNAL = 'pollNow';
/** Sent by long downloads. */
export const DOWNLOAD_PROGRESS_SIGNAL = 'downloadProgress';
export const DEFAULT_TASK_QUEUE = 'video-generation';

/** Submits have their own task queue, so that few run at a time, in order of priority, and do not block quick work. */
export const submitQueueOf = (taskQueue: string) => `${taskQueue}-submit`;

/** The memo with a job's identity: a second start under the same name is compared with it. */
export const IDENTITY_MEMO = 'jobIdentity';

/** The memo with the time when a lost submit was first held. With it set, a request may have been sent. */
export const LOST_SUBMIT_MEMO = 'lostSubmitSince';

/** The memo with the task id, readable without a worker and after a termination. */
export const TASK_ID_MEMO = 'taskId';
