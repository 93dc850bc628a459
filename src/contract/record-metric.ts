import type { MetricMeter } from '@temporalio/common';
import {
  type CounterName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricRow,
  seriesOf,
} from './metrics';

/** Exporters for Prometheus append `_total`, as ours does. The unit is in the name, or they would append it too. */
const counter = (meter: MetricMeter, name: string, help: string) =>
  meter.createCounter(name.replace(/_total$/, ''), '', help);

/** Adds to a counter, through a meter of the SDK. */
export function count<Name extends CounterName>(
  meter: MetricMeter,
  name: Name,
  labels: LabelsOf<Name>,
  by = 1,
): void {
  counter(meter, name, METRICS[name].help).add(by, labels);
}

/** Records a value in a histogram, through a meter of the SDK, which refuses negative values: clocks may differ. */
export function observe<Name extends HistogramName>(
  meter: MetricMeter,
  name: Name,
  labels: LabelsOf<Name>,
  value: number,
): void {
  meter.createHistogram(name, 'float', '', METRICS[name].help).record(Math.max(value, 0), labels);
}

/**
 * Records a 0 for everything that can happen to jobs: Prometheus sees no increase in a counter that appears with its first
 * failure.
 */
export function startJobCounters(meter: MetricMeter): void {
  for (const [name, { kind, from, help, labels }] of Object.entries<MetricRow>(METRICS)) {
    if (kind !== 'counter' || from !== 'workflow') continue;
    for (const series of seriesOf(labels)) counter(meter, name, help).add(0, series);
  }
}
