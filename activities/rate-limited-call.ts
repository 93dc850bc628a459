import { Context, log } from '@temporalio/activity';
import type { ConnectionLike, TestService } from '@temporalio/client';
import type { Call } from '../src/contract/failure-table';
import { type CallOutcome, type Permit, type RateLimiter, ServiceFault } from '../src/service';
import { failureOf } from './to-failure';

/** Makes one call if the rate limiter lets it through, and tells the rate limiter whether the service found it one too many. */
export async function callWithinLimits<T>(
  rateLimiter: RateLimiter,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const permit = await acquire(rateLimiter, call);
  if (!permit.granted) {
    throw failureOf('RateLimited', call, {
      message: 'nothing was sent, because the service has just asked for fewer requests',
      retryAfter: permit.waitMs / 1_000,
    });
  }
  try {
    const answer = await work();
    permit.release({ kind: 'passed' });
    return answer;
  } catch (error) {
    const outcome = learntFrom(error);
    permit.release(outcome);
    // What the server skips after this attempt is to be known from what its clock shows now.
    if (outcome.kind === 'limited') await followSkippedTime(rateLimiter);
    throw error;
  }
}

async function acquire(rateLimiter: RateLimiter, call: Call): Promise<Permit> {
  const permit = rateLimiter.acquire(call);
  if (permit.granted || !(await followSkippedTime(rateLimiter))) return permit;
  return rateLimiter.acquire(call);
}

/** Whether there is room is told by a refusal for that reason and by a success, and by nothing else. */
function learntFrom(error: unknown): CallOutcome {
  if (!(error instanceof ServiceFault && error.facts.limited)) return { kind: 'unknown' };
  return { kind: 'limited', retryAfterMs: error.facts.retryAfterMs };
}

/** A server that skips time runs beside the test. One that takes longer is asked again with the next call. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Lets the rate limiter measure its pauses on the server's clock where that clock skips time: Temporal then keeps the wait of a
 * 429 in no time, and the machine's clock would keep the rate limiter shut. Answers whether it is so. The SDK gives the service
 * that tells the time to connections of time-skipping test environments alone, so no other server is asked.
 */
export async function followSkippedTime(rateLimiter: RateLimiter): Promise<boolean> {
  const connection = skippingConnection();
  if (connection === undefined) return false;
  try {
    await rateLimiter.followServerClock(connection, () => readClock(connection));
    return true;
  } catch (error) {
    log.warn('could not ask the time-skipping server for its time', { error });
    return false;
  }
}

/** The connection of the worker, if it is to a server that skips time. */
export function skippingConnection(): TestConnection | undefined {
  const connection = connectionOfWorker();
  return connection !== undefined && hasTestService(connection) ? connection : undefined;
}

/** An attempt in the SDK's mock environment has none. */
function connectionOfWorker(): ConnectionLike | undefined {
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
  const ask = () => connection.testService.getCurrentTime({});
  const { time } = await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, ask);
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}
