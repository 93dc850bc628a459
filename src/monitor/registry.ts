import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricName,
  type MetricRow,
} from '../contract/metrics';

export type Labels = Readonly<Record<string, string>>;

/** One line of the text. */
export interface Sample {
  metric: MetricName;
  /** Of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count';
  labels: Labels;
  value: number;
}

/** Labels come from routes and codes, so there are few. Should that ever fail, memory and scrapes stay bounded. */
const MOST_SERIES = 500;

interface Series {
  labels: Labels;
  value: number;
  /** Of a histogram: how many values fell into each bucket, the last without a bound. */
  inBuckets?: number[];
}

/** The metrics of a process without Temporal's SDK for workers, such as a gateway. A worker measures through the SDK. */
export class MetricRegistry {
  private readonly metrics = new Map<MetricName, Map<string, Series>>();

  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.seriesFor(name, labels, (series) => {
      series.value += by;
    });
  }

  /** Adds to a gauge. */
  add<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, by: number): void {
    this.seriesFor(name, labels, (series) => {
      series.value += by;
    });
  }

  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    const bounds = METRICS[name].buckets;
    this.seriesFor(name, labels, (series) => {
      series.value += value;
      series.inBuckets ??= Array.from({ length: bounds.length + 1 }, () => 0);
      const found = bounds.findIndex((bound) => value <= bound);
      const index = found < 0 ? bounds.length : found;
      series.inBuckets[index] = (series.inBuckets[index] ?? 0) + 1;
    });
  }

  samples(): Sample[] {
    return [...this.metrics].flatMap(([metric, all]) =>
      [...all.values()].flatMap((series) => samplesOf(metric, series)),
    );
  }

  private seriesFor(name: MetricName, labels: Labels, change: (series: Series) => void): void {
    const all = this.metrics.get(name) ?? new Map<string, Series>();
    this.metrics.set(name, all);
    const key = JSON.stringify(Object.values(labels));
    const series = all.get(key) ?? { labels, value: 0 };
    if (!all.has(key) && all.size >= MOST_SERIES) return;
    all.set(key, series);
    change(series);
  }
}

function samplesOf(metric: MetricName, { labels, value, inBuckets }: Series): Sample[] {
  if (inBuckets === undefined) return [{ metric, labels, value }];
  const { buckets = [] }: MetricRow = METRICS[metric];
  let upTo = 0;
  const cumulative = [...buckets, Number.POSITIVE_INFINITY].map((bound, index): Sample => {
    upTo += inBuckets[index] ?? 0;
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound);
    return { metric, suffix: '_bucket', labels: { ...labels, le }, value: upTo };
  });
  return [
    ...cumulative,
    { metric, suffix: '_sum', labels, value },
    { metric, suffix: '_count', labels, value: upTo },
  ];
}
