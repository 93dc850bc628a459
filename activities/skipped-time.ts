import { Context, log } from '@temporalio/activity';
import type { ConnectionLike, TestService } from '@temporalio/client';
import type { RateGate } from '../src/service';

/** A server that skips time runs beside the test. One that takes longer is asked again with the next call. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Lets the gate measure its pauses on the server's clock where that clock skips time: Temporal then keeps the wait of a
 * 429 in no time, and the machine's clock would keep the gate shut. Answers whether it is so. The SDK gives the service
 * that tells the time to connections of time-skipping test environments alone, so no other server is asked.
 */
export async function followSkippedTime(gate: RateGate): Promise<boolean> {
  const connection = skippingConnection();
  if (connection === undefined) return false;
  try {
    await gate.follow(connection, () => readClock(connection));
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
