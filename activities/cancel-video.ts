import { cancellationSignal } from '@temporalio/activity';
import type { CancelAnswer } from '../src/service';
import { ServiceFault } from '../src/service/service-fault';
import { logEvent } from './attempt';
import { type FindTools, toolsFor } from './service-tools';
import { toFailure } from './to-failure';

/** Input of the activity cancelVideo. */
export interface CancelVideoInput {
  taskId: string;
  /** The named service that has the task. */
  service?: string | undefined;
}

/** Asks the service to cancel a task, if the service supports it. */
export function createCancelVideo(find: FindTools) {
  return async function cancelVideo({ taskId, service: name }: CancelVideoInput): Promise<CancelAnswer> {
    const { service, rateLimiter } = toolsFor(find, name, 'poll');
    try {
      const answer = await service.cancel?.(taskId, { signal: cancellationSignal() });
      if (answer === 'asked') {
        logEvent('cancelAsked', { taskId });
        // Nobody polls the task any more, so no poll sees its end.
        rateLimiter.recordTaskEnd();
      }
      return answer ?? 'not-offered';
    } catch (error) {
      // For example because the task has ended: asking again changes nothing.
      const { status = 0 } = error instanceof ServiceFault ? error.facts : {};
      if (status >= 400 && status < 500 && status !== 429) return 'refused';
      throw toFailure(error, 'poll', { taskId });
    }
  };
}
