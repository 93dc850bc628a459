import { get } from 'node:http';
import { type MetricsExporterConfig, Runtime } from '@temporalio/worker';
import { ConfigError } from '../config/read-setting';
import { METRICS, type MetricRow } from '../contract/metrics';
import { BATCH_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
import { startJobCounters } from '../contract/record-metric';
import { withSnakeCaseLabels } from '../monitor/exposition';
import { freePort, LOOPBACK } from '../temporal-server/loopback-port';

/** A scrape of a busy worker is some hundred kilobytes. */
const LARGEST_TEXT_BYTES = 16 * 1024 * 1024;
const ANSWER_WITHIN_MS = 5_000;

/** The upper bounds of our histograms, by name. */
const BUCKETS = Object.fromEntries(
  Object.entries<MetricRow>(METRICS).flatMap(([name, { buckets }]) =>
    buckets ? [[name, [...buckets]]] : [],
  ),
);

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

/** One for each exporter, so that the monitor of two workers reads theirs once. */
const readers = new Map<string, () => Promise<string>>();

/** Reads what the SDK's exporter says; undefined if it has none for Prometheus. */
export function sdkMetricsReader(): (() => Promise<string>) | undefined {
  const address = exporterAddress();
  if (address === undefined) return undefined;
  const reader =
    readers.get(address) ?? (async () => withSnakeCaseLabels(await read(`http://${address}/metrics`)));
  readers.set(address, reader);
  return reader;
}

/** With the labels that the SDK gives the metrics of a workflow. */
export function startCounters(namespace: string, taskQueue: string): void {
  const { metricMeter } = Runtime.instance();
  for (const workflowType of [WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE]) {
    startJobCounters(metricMeter.withTags({ namespace, taskQueue, workflowType }));
  }
}

/** Where the exporter listens: on all addresses means also on this machine's own. */
function exporterAddress(): string | undefined {
  const { metricsExporter } = Runtime.instance().options.runtimeOptions;
  if (metricsExporter?.type !== 'prometheus') return undefined;
  return metricsExporter.socketAddr.replace(/^0\.0\.0\.0:/, `${LOOPBACK}:`).replace(/^\[::\]:/, '[::1]:');
}

function read(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false, timeout: ANSWER_WITHIN_MS }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > LARGEST_TEXT_BYTES)
          asked.destroy(new ConfigError('The metrics of the SDK are too large.'));
        else chunks.push(chunk);
      });
      answer.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      answer.once('error', reject);
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.once('error', reject);
  });
}
