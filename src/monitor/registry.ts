/** What a monitor says beside the text of the SDK's exporter. docs/observability.md lists it. */
export const SHOWN_METRICS = {
  videogen_submit_backlog: {
    kind: 'gauge',
    help: 'Submits that wait in Temporal for a worker, about; the same on every worker of the queue.',
  },
  videogen_oldest_submit_seconds: { kind: 'gauge', help: 'How long the oldest of them has waited.' },
  videogen_held_jobs: {
    kind: 'gauge',
    help: 'Jobs that wait for a decision now; needs search attributes; the same on every worker of the namespace.',
  },
  videogen_ready: { kind: 'gauge', help: '1 if /readyz finds this part ready, else 0.' },
  videogen_gateway_requests_total: {
    kind: 'counter',
    help: 'Answered requests by pattern of the route and HTTP status.',
  },
  videogen_gateway_request_duration_seconds: {
    kind: 'histogram',
    help: 'From the request to the end of its answer; event streams are not in it.',
  },
  videogen_gateway_refusals_total: {
    kind: 'counter',
    help: 'Requests answered with an error, by its code.',
  },
  videogen_gateway_streams: { kind: 'gauge', help: 'Event streams that are open.' },
} as const;

export type MetricName = keyof typeof SHOWN_METRICS;
export type Labels = Readonly<Record<string, string>>;

/** One line of the text. */
export interface Sample {
  metric: MetricName;
  /** Of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count';
  labels: Labels;
  value: number;
}

/** The upper bounds of histograms, in seconds. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

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

  /** Adds to a counter or a gauge. */
  add(name: MetricName, labels: Labels = {}, by = 1): void {
    this.seriesFor(name, labels, (series) => {
      series.value += by;
    });
  }

  /** Records a value in a histogram. */
  observe(name: MetricName, labels: Labels, value: number): void {
    this.seriesFor(name, labels, (series) => {
      series.value += value;
      series.inBuckets ??= Array.from({ length: BUCKETS.length + 1 }, () => 0);
      const found = BUCKETS.findIndex((bound) => value <= bound);
      const index = found < 0 ? BUCKETS.length : found;
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
  let upTo = 0;
  const cumulative = [...BUCKETS, Number.POSITIVE_INFINITY].map((bound, index): Sample => {
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
