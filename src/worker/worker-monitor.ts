import { setTimeout as sleep } from 'node:timers/promises';
import { type MetricsExporterConfig, Runtime, type Worker } from '@temporalio/worker';
import type { MonitorAddress } from '../config/setting-forms';
import { FAILURES } from '../contract/failure-table';
import { count, type HISTOGRAMS, HOLD_ENDS } from '../contract/metrics';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { freePort, LOOPBACK } from '../temporal-server/loopback-port';
import { type HealthPart, openMonitor, type PartStatus } from './monitor';
import type { VideoWork } from './video-work';

/** As long as the gateway waits for its own /readyz. */
const TEMPORAL_WITHIN_MS = 2_000;

/** Serves the health and the metrics of one VideoWorker, or of a host's worker with those that the plugin adds. */
export async function openWorkerMonitor(
  address: Required<MonitorAddress>,
  { workers }: VideoWork,
  { namespace = 'default', taskQueue }: { namespace?: string | undefined; taskQueue: string },
): Promise<() => Promise<void>> {
  startCounters(namespace, taskQueue);
  return openMonitor(address, {
    exporter: exporterUrl(),
    health: async () => [polling(workers), await temporalHealth(workers[0])],
    liveness: () => [polling(workers)].filter(({ status }) => status === 'unready'),
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
  const deadline = Date.now() + TEMPORAL_WITHIN_MS;
  const answer = connection?.withDeadline(deadline, () => connection.workflowService.getSystemInfo({}));
  // The SDK's core repeats a call past its deadline while nobody listens at the address.
  const late = sleep(TEMPORAL_WITHIN_MS, undefined, { ref: false });
  const system = await Promise.race([answer, late]).catch(() => undefined);
  if (system) return { part: 'temporal', status: 'ok' };
  const reason = `no answer within ${TEMPORAL_WITHIN_MS / 1_000} s`;
  return { part: 'temporal', status: 'unready', reason };
}

const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 3_600, 21_600];

/** The upper bounds of our histograms. */
const BUCKETS: Record<keyof typeof HISTOGRAMS, number[]> = {
  videogen_job_duration_seconds: SECONDS,
  videogen_generation_seconds: SECONDS,
  videogen_ready_lag_seconds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  videogen_job_polls: [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100],
  videogen_submit_wait_seconds: SECONDS,
  videogen_download_speed_bytes_per_second: [1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9],
};

/**
 * How Temporal's SDK has to export metrics so that names and histograms are those of our dashboard: seconds, units and
 * `_total` in the names. For `Runtime.install` of a program with a worker of its own.
 *
 * @example
 * ```ts
 * Runtime.install({ telemetryOptions: { metrics: prometheusMetrics('127.0.0.1:9465') } });
 * ```
 */
export function prometheusMetrics(bindAddress: string): MetricsExporterConfig {
  return {
    attachServiceName: false,
    prometheus: {
      bindAddress,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: BUCKETS,
    },
  };
}

/** An exporter on a free port of this machine alone, which the monitor reads. */
export async function exporterForMonitor(): Promise<MetricsExporterConfig> {
  return prometheusMetrics(`${LOOPBACK}:${await freePort()}`);
}

/** Lets the SDK measure, unless the program has installed a runtime: then its own exporter has our metrics too. */
export async function installSdkMetrics(): Promise<void> {
  const metrics = await exporterForMonitor();
  try {
    Runtime.install({ telemetryOptions: { metrics } });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'IllegalStateError')) throw error;
  }
}

/** Where the SDK's exporter answers; undefined if it has none for Prometheus. */
export function exporterUrl(): string | undefined {
  const { logger, options } = Runtime.instance();
  const { metricsExporter } = options.runtimeOptions;
  if (metricsExporter == null) {
    logger.warn(
      'Jobs are not measured, because the runtime of the SDK was installed without metrics: give telemetryOptions.metrics of Runtime.install the prometheusMetrics of temporal-videogen.',
    );
  }
  if (metricsExporter?.type !== 'prometheus') return undefined;
  // An exporter that listens on all addresses also does on this machine's own.
  const address = metricsExporter.socketAddr.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:');
  return `http://${address}/metrics`;
}

/**
 * Counts a 0 for everything that can happen to jobs, with the labels that the SDK gives the metrics of a workflow: Prometheus
 * sees no increase in a counter that appears with its first failure.
 */
export function startCounters(namespace: string, taskQueue: string): void {
  const { metricMeter } = Runtime.instance();
  for (const workflowType of [WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE]) {
    const meter = metricMeter.withTags({ namespace, taskQueue, workflowType });
    for (const outcome of ['succeeded', ...Object.keys(FAILURES)])
      count(meter, 'videogen_jobs_total', { outcome }, 0);
    count(meter, 'videogen_holds_started_total', {}, 0);
    for (const end of HOLD_ENDS) count(meter, 'videogen_holds_ended_total', { end }, 0);
  }
}
