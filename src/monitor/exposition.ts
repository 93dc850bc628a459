import { type MetricName, type Sample, SHOWN_METRICS } from './registry';

/** The content type of Prometheus' text format. */
export const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/** The samples in Prometheus' text format, those of a metric together under its help and kind. */
export function metricsText(samples: readonly Sample[]): string {
  const byMetric = new Map<MetricName, Sample[]>();
  for (const sample of samples) byMetric.set(sample.metric, [...(byMetric.get(sample.metric) ?? []), sample]);
  return [...byMetric].map(([metric, of]) => familyText(metric, of)).join('');
}

function familyText(metric: MetricName, samples: readonly Sample[]): string {
  const { help, kind } = SHOWN_METRICS[metric];
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${metric}${suffix}${labelText(labels)} ${value}`,
  );
  return [`# HELP ${metric} ${help}`, `# TYPE ${metric} ${kind}`, ...lines, ''].join('\n');
}

function labelText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** The SDK writes the labels of its meters in camel case, those of its own metrics not. One spelling joins both. */
const CAMEL_CASE: Readonly<Record<string, string>> = {
  taskQueue: 'task_queue',
  workflowType: 'workflow_type',
  activityType: 'activity_type',
};

/** A quote inside a value is escaped, so only a label can match. */
const SDK_LABEL = /([{,])(taskQueue|workflowType|activityType)="/g;

/** What the SDK's exporter wrote, with one spelling of labels. */
export function withSnakeCaseLabels(text: string): string {
  return text.replace(SDK_LABEL, (_, before: string, name: string) => `${before}${CAMEL_CASE[name]}="`);
}
