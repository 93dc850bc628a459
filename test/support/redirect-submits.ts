import { randomUUID } from 'node:crypto';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

const queues = new Map<string, string>();

/** Start options for a job whose submits go to this queue, which the test serves, or nobody. */
export function submittingOn(queue: string, workflowId: string = randomUUID()): { workflowId: string } {
  queues.set(workflowId, queue);
  return { workflowId };
}

/** The same job, started again, submits like any other. */
export function submittingHere(workflowId: string): { workflowId: string } {
  queues.delete(workflowId);
  return { workflowId };
}

/** For the worker that runs such jobs: changes the answer to where submits are done. */
export const redirectSubmits: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute: async (input, next) => {
      const answer = await next(input);
      if (info.activityType !== 'routeJob') return answer;
      const job = info.workflowExecution?.workflowId ?? '';
      // The jobs of a fallback are named after it.
      const submit = queues.get(job) ?? queues.get(job.slice(0, job.lastIndexOf('.')));
      return submit === undefined ? answer : { ...Object(answer), submit, servedHere: true };
    },
  },
});
