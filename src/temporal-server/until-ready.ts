import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { acceptsConnections, LOOPBACK } from './loopback-port';

// A start takes about a second on an idle machine.
const CHECK_EVERY_MS = 250;
// A call to a local server that takes longer is repeated.
const CALL_TIMEOUT_MS = 5_000;

/** Waits until a Temporal server answers on `port` and its namespace is usable. */
export async function untilReady(port: number, namespace: string, signal: AbortSignal): Promise<void> {
  await untilPortOpen(port, signal);
  for (;;) {
    if (await namespaceIsUsable(port, namespace)) return;
    await sleep(CHECK_EVERY_MS, undefined, { signal });
  }
}

/** Waits until `port` accepts connections. */
export async function untilPortOpen(port: number, signal: AbortSignal): Promise<void> {
  while (!(await acceptsConnections(port))) await sleep(CHECK_EVERY_MS, undefined, { signal });
}

async function namespaceIsUsable(port: number, namespace: string): Promise<boolean> {
  const connection = Connection.lazy({
    address: `${LOOPBACK}:${port}`,
    // A proxy from the environment must not be used for the local machine.
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  try {
    // Counting needs the namespace and its visibility store, which are ready last.
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
