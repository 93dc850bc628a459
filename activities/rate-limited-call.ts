import { Context } from '@temporalio/activity';
import type { ConnectionLike, TestService } from '@temporalio/client';
import type { Call } from '../src/contract/failure-table';
import type { CallOutcome, FoundService, Permit, RateLimiter } from '../src/service';
import { ServiceFault } from '../src/service/service-fault';
import { logEvent } from './log-event';
import { type CallResult, callResultOf, measureCall } from './measure';
import { createCallFailure } from './to-failure';

/** Makes one call if the rate limiter permits it, and reports to the rate limiter whether the service limited it. */
export async function callWithinLimits<T>(
  { rateLimiter, name }: Pick<FoundService, 'rateLimiter' | 'name'>,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const measured = (result: CallResult | undefined) => measureCall(call, result, name);
  const permit = await acquire(rateLimiter, call);
  if (!permit.granted) {
    measured('paused');
    throw createCallFailure('RateLimited', call, {
      message: 'nothing was sent, because the service asked for fewer requests a moment ago',
      retryAfter: permit.waitMs / 1_000,
    });
  }
  try {
    const answer = await work();
    permit.release({ kind: 'passed' });
    measured('passed');
    return answer;
  } catch (error) {
    const outcome = outcomeOf(error);
    permit.release(outcome);
    measured(callResultOf(error));
    // The time that the server skips from here on is measured from its clock now.
    if (outcome.kind === 'limited') await followSkippedTime(rateLimiter);
    throw error;
  }
}

async function acquire(rateLimiter: RateLimiter, call: Call): Promise<Permit> {
  const permit = rateLimiter.acquire(call);
  if (permit.granted || !(await followSkippedTime(rateLimiter))) return permit;
  return rateLimiter.acquire(call);
}

/** Other faults say nothing about the limit. */
function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof ServiceFault && error.facts.limited)) return { kind: 'unknown' };
  return { kind: 'limited', retryAfterMs: error.facts.retryAfterMs };
}

/** The time-skipping server runs on the same machine; the next call asks it again. */
const CLOCK_TIMEOUT_MS = 5_000;

/**
 * Makes the rate limiter use the clock of a server that skips time: such a server skips the pause after a 429, and by the
 * machine's clock the pause would still last. Returns whether the server skips time. Only connections of time-skipping
 * test environments have the SDK's test service, so no other server is asked.
 */
export async function followSkippedTime(rateLimiter: RateLimiter): Promise<boolean> {
  const connection = skippingConnection();
  if (connection === undefined) return false;
  try {
    await rateLimiter.followServerClock(connection, () => readClock(connection));
    return true;
  } catch (error) {
    logEvent('clockNotRead', { error });
    return false;
  }
}

/** The worker's connection, if its server skips time. */
export function skippingConnection(): TestConnection | undefined {
  const connection = workerConnection();
  return connection !== undefined && hasTestService(connection) ? connection : undefined;
}

/** The SDK's mock activity environment has none. */
function workerConnection(): ConnectionLike | undefined {
  try {
    return Context.current().client.connection;
  } catch {
    return undefined;
  }
}

type TestConnection = ConnectionLike & { testService: TestService };

function hasTestService(connection: ConnectionLike): connection is TestConnection {
  return 'testService' in connection && connection.testService !== undefined;
}

async function readClock(connection: TestConnection): Promise<number> {
  const { time } = await connection.withDeadline(Date.now() + CLOCK_TIMEOUT_MS, () =>
    connection.testService.getCurrentTime({}),
  );
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}
