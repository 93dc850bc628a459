import { ApplicationFailure } from '@temporalio/activity';
import type { WebhookSender } from '../src/service';

/**
 * Has activities tell their workflow that the worker has a default receiver of webhooks: in the result, or in the second
 * detail of a failure. An activity of its own would add events to every job.
 */
export function createSayReceiver(sender: WebhookSender | undefined) {
  return <Input, Result extends { hasReceiver?: true }>(
    activity: (input: Input) => Promise<Result>,
  ): ((input: Input) => Promise<Result>) => {
    if (sender?.defaultUrl === undefined) return activity;
    return async (input) => {
      try {
        return { ...(await activity(input)), hasReceiver: true };
      } catch (error) {
        if (error instanceof ApplicationFailure) error.details?.push({ hasReceiver: true });
        throw error;
      }
    };
  };
}
