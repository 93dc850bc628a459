import { cancellationSignal, log } from '@temporalio/activity';
import { type CancelAnswer, ServiceFault, type VideoService } from '../src/service';
import { toFailure } from './to-failure';

export interface CancelVideoInput {
  taskId: string;
}

/** Asks the service to stop working on a task that nobody waits for any longer, if it can be asked. */
export function createCancelVideo(service: VideoService) {
  return async function cancelVideo({ taskId }: CancelVideoInput): Promise<CancelAnswer> {
    try {
      const answer = await service.cancel(taskId, { signal: cancellationSignal() });
      log.info('asked to cancel', { taskId, answer });
      return answer;
    } catch (error) {
      // Such as a task that is over already: asking again changes nothing.
      if (error instanceof ServiceFault && isRefusal(error)) return 'refused';
      throw toFailure(error, 'poll', { taskId });
    }
  };
}

function isRefusal({ facts: { status = 0 } }: ServiceFault): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
