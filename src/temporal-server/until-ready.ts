import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { answers, LOOPBACK } from './loopback-port';

// A quarter of the second that a start takes on an idle machine.
const LOOK_AGAIN_MS = 250;
// A call to a server on the same machine that takes longer is asked again.
const CALL_TIMEOUT_MS = 5_000;

/** Waits until a Temporal server answers on `port` and its namespace can be used. */
export async function untilReady(port: number, namespace: string, signal: AbortSignal): Promise<void> {
  await untilAnswered(port, signal);
  for (;;) {
    if (await namespaceIsUsable(port, namespace)) return;
    await sleep(LOOK_AGAIN_MS, undefined, { signal });
  }
}

/** Waits until somebody accepts connections on `port`. */
export async function untilAnswered(port: number, signal: AbortSignal): Promise<void> {
  while (!(await answers(port))) await sleep(LOOK_AGAIN_MS, undefined, { signal });
}

async function namespaceIsUsable(port: number, namespace: string): Promise<boolean> {
  const connection = Connection.lazy({
    address: `${LOOPBACK}:${port}`,
    // A proxy of the surroundings is not asked for our own machine.
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  try {
    // Counting needs the namespace's registration and its visibility store, which come up last.
    await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      connection.workflowService.countWorkflowExecutions({ namespace }),
    );
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}
