import type { Worker } from '@temporalio/worker';
import type { MonitorAddress } from '../config/setting-forms';
import { type HealthPart, type Monitor, openMonitor, type PartStatus, within } from './monitor';
import { exporterUrl, startCounters } from './sdk-metrics';
import type { VideoWork, WatchedService } from './video-work';

/** As long as the gateway waits for its own /readyz. */
const TEMPORAL_WITHIN_MS = 2_000;

export interface MonitoredWorkers {
  /** The workers of the SDK that run now; more may come. */
  workers(): readonly Worker[];
  work: VideoWork;
  /** By default that of the first worker. */
  namespace?: string | undefined;
  taskQueue: string;
}

/** Serves the health and the metrics of one VideoWorker, or of a host's worker with those that the plugin adds. */
export async function openWorkerMonitor(
  address: MonitorAddress,
  { workers, work, namespace, taskQueue }: MonitoredWorkers,
): Promise<Monitor> {
  startCounters(namespace ?? workers()[0]?.options.namespace ?? 'default', taskQueue);
  return openMonitor(address, {
    exporter: exporterUrl(),
    health: async () => [
      polling(workers()),
      await temporalHealth(workers()[0]),
      ...work.watched.map(reachOf),
    ],
    liveness: () => [polling(workers())].filter(({ status }) => status === 'unready'),
  });
}

/** What the states of the SDK's workers mean; the missing ones are those of a worker that ends. */
const STATUSES: Readonly<Partial<Record<ReturnType<Worker['getState']>, PartStatus>>> = {
  INITIALIZED: 'starting',
  RUNNING: 'ok',
  FAILED: 'unready',
};

/** Without one of them jobs would silently wait, so all must poll. */
function polling(workers: readonly Worker[]): HealthPart {
  const parts = workers.map((worker): HealthPart => {
    const status = STATUSES[worker.getState()] ?? 'draining';
    const { workflowPollerState, activityPollerState } = worker.getStatus();
    const hasFailed = workflowPollerState === 'FAILED' || activityPollerState === 'FAILED';
    const reason = `the worker of ${worker.options.taskQueue} is ${worker.getState()}`;
    return { part: 'polling', status: hasFailed ? 'unready' : status, reason };
  });
  const worst = parts.find(({ status }) => status !== 'ok');
  return worst ?? { part: 'polling', status: parts.length === 0 ? 'starting' : 'ok' };
}

async function temporalHealth(worker: Worker | undefined): Promise<HealthPart> {
  const connection = worker?.connection;
  const ask = () => connection?.workflowService.getSystemInfo({});
  try {
    if (connection === undefined) throw new Error('the worker has no connection');
    // The SDK's core repeats a call past its deadline while nobody listens at the address.
    await within(
      connection.withDeadline(Date.now() + TEMPORAL_WITHIN_MS, async () => ask()),
      TEMPORAL_WITHIN_MS,
    );
    return { part: 'temporal', status: 'ok' };
  } catch {
    const reason = `no answer within ${TEMPORAL_WITHIN_MS / 1_000} s`;
    return { part: 'temporal', status: 'unready', reason };
  }
}

function reachOf({ name, reach: { problem } }: WatchedService): HealthPart {
  const part = { part: 'service', ...(name !== undefined && { service: name }) } as const;
  return problem === undefined ? { ...part, status: 'ok' } : { ...part, status: 'unready', reason: problem };
}
