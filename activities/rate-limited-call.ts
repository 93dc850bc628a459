import { Context } from '@temporalio/activity';
import type { Call } from '../src/contract/failure-table';
import type { CallOutcome, FoundService } from '../src/service';
import { ServiceFault } from '../src/service/service-fault';
import { callResultOf, measureCall } from './measure';
import { createCallFailure } from './to-failure';

/** Makes one call if the rate limiter permits it, and reports to the rate limiter whether the service limited it. */
export async function callWithinLimits<T>(
  { rateLimiter, name }: Pick<FoundService, 'rateLimiter' | 'name'>,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  // The server skips the pause after a 429; by the machine's clock it would still last.
  if (isTimeSkipped()) rateLimiter.turnOff();
  const permit = rateLimiter.acquire(call);
  if (!permit.granted) {
    measureCall(call, 'paused', name);
    throw createCallFailure('RateLimited', call, {
      message: 'nothing was sent, because the service asked for fewer requests a moment ago',
      retryAfter: permit.waitMs / 1_000,
    });
  }
  try {
    const answer = await work();
    permit.release({ kind: 'passed' });
    measureCall(call, 'passed', name);
    return answer;
  } catch (error) {
    permit.release(outcomeOf(error));
    measureCall(call, callResultOf(error), name);
    throw error;
  }
}

/** Other faults say nothing about the limit. */
function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof ServiceFault && error.facts.limited)) return { kind: 'unknown' };
  return { kind: 'limited', retryAfterMs: error.facts.retryAfterMs };
}

/** Only the connections of time-skipping test environments have the SDK's test service. */
export function isTimeSkipped(): boolean {
  try {
    const { connection } = Context.current().client;
    return 'testService' in connection && connection.testService !== undefined;
  } catch {
    // The SDK's mock activity environment has no client.
    return false;
  }
}
