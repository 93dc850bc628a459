/** What a task of the service can be, whatever word the service has for it. */
export const TASK_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const;

export type TaskState = (typeof TASK_STATES)[number];
