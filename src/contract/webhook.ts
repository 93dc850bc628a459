import type { ServiceRefusal } from './failure-details';
import type { FailureType } from './failure-table';
import type { JobCost } from './job-cost';

/** What a webhook reports. */
export const WEBHOOK_EVENTS = ['video.completed', 'video.failed', 'video.needs_decision'] as const;

/** One of WEBHOOK_EVENTS. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The body of a webhook: what happened to which video. The video itself is read with its id. */
export interface WebhookPayload {
  type: WebhookEvent;
  /** ISO 8601: when it happened, not when it was sent. */
  timestamp: string;
  data: {
    /** The id that the gateway answered, or the name of a job that was started without it. */
    id: string;
    /** The task at the service. */
    taskId?: string;
    /** Why the job failed. */
    failure?: FailureType;
    /** What the job costs, as far as it is known; without it the cost is unknown. */
    cost?: JobCost;
    /** Which of the job's `services` made no task, in order. */
    refusedBy?: ServiceRefusal[];
  };
}

/** One webhook to deliver: the input of the workflow and of its activity. */
export interface WebhookDelivery extends Omit<WebhookPayload['data'], 'id'> {
  /** Its `webhook-id`, which is also the id of the workflow that delivers it. */
  id: string;
  /** The job's receiver; the worker's default receiver when there is none. */
  url?: string;
  event: WebhookEvent;
  /** The name of the job. */
  job: string;
  /** When it happened. */
  timestamp: string;
}

/** src/gateway/task-names.ts makes these names; receivers know only the id in them. A part has the name of its service after it. */
const GATEWAY_JOB = /^gateway-[a-z0-9_]+-(video_[0-9a-f]{32})(?:\..+)?$/;

export function webhookPayload(delivery: Omit<WebhookDelivery, 'id' | 'url'>): WebhookPayload {
  const { event, job, taskId, failure, cost, refusedBy, timestamp } = delivery;
  const [, id = job] = GATEWAY_JOB.exec(job) ?? [];
  const data = { id, taskId, failure, cost, ...(refusedBy && { refusedBy }) };
  return { type: event, timestamp, data };
}
