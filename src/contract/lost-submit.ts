/** What to do when the answer to a submit is lost, so that a task may exist and be paid for. */
export const LOST_SUBMIT_POLICIES = ['hold', 'resubmit', 'fail'] as const;

export type LostSubmitPolicy = (typeof LOST_SUBMIT_POLICIES)[number];

/** How somebody who looked for the task at the service settles a lost submit. */
export type SubmitDecision =
  | { decision: 'resubmit' }
  | { decision: 'adopt'; taskId: string }
  | { decision: 'abandon' };

/** The same of one item of a batch. */
export type ItemDecision = SubmitDecision & { item: number };
