import { Runtime, type Worker } from '@temporalio/worker';
import type { MonitorAddress } from '../config/monitor-config';
import type { Environment } from '../config/read-setting';
import { readSearchAttributes } from '../config/temporal-config';
import type { HealthPart, PartStatus } from '../monitor/health';
import { type Monitor, type MonitorSource, openMonitor } from '../monitor/monitor';
import type { Sample } from '../monitor/registry';
import { type SdkExporter, sdkExporter, startCounters } from './sdk-metrics';
import { TemporalGauges } from './temporal-gauges';
import type { VideoWork, WatchedService } from './video-work';

export { exporterForMonitor, installSdkMetrics } from './sdk-metrics';

export interface MonitoredWorkers {
  /** The workers of the SDK that run now; more may come. */
  workers(): readonly Worker[];
  work: VideoWork;
  /** By default that of the first worker. */
  namespace?: string | undefined;
  /** The queues of jobs and submits; none if this process takes no submits. */
  taskQueue: string;
  submitQueues: readonly string[];
  env: Environment | undefined;
}

/** Serves the health and the metrics of one VideoWorker, or of a host's worker with those beside it. */
export async function openWorkerMonitor(
  address: MonitorAddress,
  monitored: MonitoredWorkers,
): Promise<Monitor> {
  const { work, taskQueue, submitQueues, env } = monitored;
  const namespace = monitored.namespace ?? monitored.workers()[0]?.options.namespace ?? 'default';
  startCounters(namespace, taskQueue);
  const gauges = new TemporalGauges({
    connection: () => monitored.workers()[0]?.connection,
    namespace,
    submitQueues,
    countsHeldJobs: readSearchAttributes(env) ?? false,
    log: Runtime.instance().logger,
  });
  const exporter = sdkExporter();
  const source: MonitorSource = {
    text: exporter?.text,
    health: async () => [
      polling(monitored.workers()),
      ...(await Promise.all([gauges.health(), ...work.watched.map(reachOf)])),
    ],
    liveness: async () => [failed(monitored.workers()), ...(exporter ? [await core(exporter)] : [])],
    samples: (): Promise<Sample[]> => gauges.samples(),
  };
  return openMonitor(address, source);
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

function failed(workers: readonly Worker[]): HealthPart {
  const { status, ...part } = polling(workers);
  return status === 'unready' ? { ...part, status } : { part: 'polling', status: 'ok' };
}

async function core({ ping }: SdkExporter): Promise<HealthPart> {
  return ping().then(
    () => ({ part: 'sdk', status: 'ok' }),
    () => ({ part: 'sdk', status: 'unready', reason: 'its native part does not answer' }),
  );
}

async function reachOf({ name, reach, address }: WatchedService): Promise<HealthPart> {
  const at = address() ?? '';
  const found = await reach.current(URL.canParse(at) ? at : undefined);
  const part = {
    part: 'service',
    ...(name !== undefined && { service: name }),
    sinceMs: found.since,
  } as const;
  return found.reachable ? { ...part, status: 'ok' } : { ...part, status: 'unready', reason: found.reason };
}
