import type { MetricMeter, MetricTags } from '@temporalio/common';

export interface Recorded {
  name: string;
  value: number;
  labels: object;
}

/** A meter that notes what is recorded with it, without the labels that the SDK adds. */
export function meterInto(recorded: Recorded[]): MetricMeter {
  const recorder =
    (name: string) =>
    (value: number, { namespace: _, taskQueue: __, activityType: ___, ...labels }: MetricTags = {}) =>
      void recorded.push({ name, value, labels });
  const meter = {
    createCounter: (name: string) => ({ add: recorder(name) }),
    createHistogram: (name: string) => ({ record: recorder(name) }),
  };
  return meter as object as MetricMeter;
}
