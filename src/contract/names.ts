/** What callers in any language write to reach a job. */
export const WORKFLOW_TYPE = 'generateVideo';
export const BATCH_WORKFLOW_TYPE = 'generateVideos';
/** What callers in other namespaces ask for a job, through Nexus. */
export const NEXUS_SERVICE = 'VideoGeneration';
export const PROGRESS_QUERY = 'progress';
export const WAIT_FOR_TASK_UPDATE = 'waitForTask';
export const DECIDE_SUBMIT_UPDATE = 'decideSubmit';
/** The same as a signal, which nobody answers: for when Temporal takes no more updates. */
export const DECIDE_SUBMIT_SIGNAL = 'decideSubmit';
export const POLL_NOW_SIGNAL = 'pollNow';
/** Sent by a download that takes its time. */
export const DOWNLOAD_PROGRESS_SIGNAL = 'downloadProgress';
export const DEFAULT_TASK_QUEUE = 'video-generation';

/** Where submits wait, beside the jobs' own task queue: few at a time, ordered by priority, apart from what is quick. */
export const submitQueueOf = (taskQueue: string) => `${taskQueue}-submit`;

/** The memo that holds what was asked for, so that a second start under the same name can be compared with it. */
export const IDENTITY_MEMO = 'jobIdentity';

/** The memo that tells since when a submit was held as lost: after it nobody can say that nothing was sent. */
export const LOST_SUBMIT_MEMO = 'lostSubmitSince';

/** The memo that holds the task id: readable with no worker running, and after a termination. */
export const TASK_ID_MEMO = 'taskId';
