import { get } from 'node:http';
import { type MetricsExporterConfig, Runtime } from '@temporalio/worker';
import { ConfigError } from '../config/read-setting';
import { METRICS, type MetricRow } from '../contract/metrics';
import { BATCH_WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, WORKFLOW_TYPE } from '../contract/names';
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

/** The SDK's own exporter for Prometheus. */
export interface SdkExporter {
  /** What it says. */
  text(): Promise<string>;
  /** Rejects if it does not answer, which means that the SDK's native part does not run any more. */
  ping(): Promise<unknown>;
}

/** One for each address, so that the monitor of two workers reads theirs once. */
const exporters = new Map<string, SdkExporter>();

/** The SDK's exporter; undefined if it has none for Prometheus. Asked once: a runtime that has ended would start again. */
export function sdkExporter(): SdkExporter | undefined {
  const { logger, options } = Runtime.instance();
  const { metricsExporter } = options.runtimeOptions;
  if (metricsExporter == null) {
    logger.warn(
      'Jobs are not measured, because the runtime of the SDK was installed without metrics: give telemetryOptions.metrics of Runtime.install the prometheusMetrics of temporal-videogen.',
    );
  }
  if (metricsExporter?.type !== 'prometheus') return undefined;
  const url = `http://${onThisMachine(metricsExporter.socketAddr)}`;
  const exporter = exporters.get(url) ?? {
    text: async () => withSnakeCaseLabels(await read(`${url}/metrics`)),
    // Nothing is there, which it says sooner than it writes its text.
    ping: () => read(`${url}/`),
  };
  exporters.set(url, exporter);
  return exporter;
}

/** An exporter that listens on all addresses also does on this machine's own. */
function onThisMachine(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, `${LOOPBACK}:`).replace(/^\[::\]:/, '[::1]:');
}

/** With the labels that the SDK gives the metrics of a workflow. */
export function startCounters(namespace: string, taskQueue: string): void {
  const { metricMeter } = Runtime.instance();
  for (const workflowType of [WORKFLOW_TYPE, FALLBACK_WORKFLOW_TYPE, BATCH_WORKFLOW_TYPE]) {
    startJobCounters(metricMeter.withTags({ namespace, taskQueue, workflowType }));
  }
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
