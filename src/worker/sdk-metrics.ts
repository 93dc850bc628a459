import { type MetricsExporterConfig, Runtime } from '@temporalio/worker';
import { FAILURES } from '../contract/failure-table';
import { count, type HISTOGRAMS, HOLD_ENDS } from '../contract/metrics';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { freePort, LOOPBACK } from '../temporal-server/loopback-port';

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
