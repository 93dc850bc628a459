import { Context, metricMeter } from '@temporalio/activity';
import type { Call } from '../src/contract/failure-table';
import { count } from '../src/contract/metrics';
import type { FoundService } from '../src/service';
import { ServiceFault } from '../src/service/service-fault';
import { createCallFailure } from './to-failure';

/** Makes one call if the rate limiter permits it, and notes whether the service limited it. */
export async function callWithinLimits<T>(
  { rateLimiter, name }: Pick<FoundService, 'rateLimiter' | 'name'>,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const measure = (result: CallResult) =>
    count(metricMeter, 'videogen_service_calls_total', {
      call,
      result,
      ...(name !== undefined && { service: name }),
    });
  // The server skips the pause after a 429; by the machine's clock it would still last.
  if (isTimeSkipped()) rateLimiter.turnOff();
  const permit = rateLimiter.acquire(call);
  if (!permit.granted) {
    measure('paused');
    throw createCallFailure('RateLimited', call, {
      message: 'nothing was sent, because the service asked for fewer requests a moment ago',
      retryAfter: permit.waitMs / 1_000,
    });
  }
  try {
    const answer = await work();
    permit.release({ kind: 'passed' });
    measure('passed');
    return answer;
  } catch (error) {
    // Other errors, such as a cancellation or a fault of the storage, are not about the service.
    const fault = error instanceof ServiceFault ? error : undefined;
    const { limited = false, retryAfterMs } = fault?.facts ?? {};
    permit.release(limited ? { kind: 'limited', retryAfterMs } : { kind: 'unknown' });
    const result = limited ? 'limited' : fault && RESULTS[fault.kind];
    if (result !== undefined) measure(result);
    throw error;
  }
}

/** `limited`: 429 or its like. `paused`: not sent, because of an earlier 429. `unanswered`: no usable answer came. */
type CallResult = 'passed' | 'limited' | 'paused' | 'refused' | 'unanswered';

const RESULTS: Record<ServiceFault['kind'], CallResult | undefined> = {
  answered: 'refused',
  refused: 'refused',
  cut: 'unanswered',
  unreadable: 'unanswered',
  'not-sent': 'unanswered',
  'not-allowed': undefined,
};

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
