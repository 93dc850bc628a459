import { FAILURES, type FailureType } from './failure-table';

/** Who measures it: workflows and activities by the SDK's meter, a worker or a gateway when its monitor is asked. */
export type MetricSource = 'workflow' | 'activity' | 'worker' | 'gateway' | 'process';

/** One metric. Names have the base unit at their end; every value of a label is in the table, so labels are bounded. */
export interface MetricRow {
  kind: 'counter' | 'gauge' | 'histogram';
  from: MetricSource;
  /** What it says, in one sentence. */
  help: string;
  /** The values of each label; undefined for names that the operator chose, such as task queues. */
  labels: Readonly<Record<string, readonly string[] | undefined>>;
  /** The upper bounds of a histogram. */
  buckets?: readonly number[];
  /** Series about a named service have its name in the label `service` too; operators choose the names. */
  byService?: true;
}

const OUTCOMES: readonly JobOutcome[] = ['succeeded', ...typesOf(FAILURES)];
const PARTS: readonly string[] = ['polling', 'temporal', 'service', 'gateway'];

const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 3_600, 21_600];
const SHORT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const COUNTS = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100];
const SPEEDS = [1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9];

/** How a job ended: as the search attribute VideoOutcome says it. */
export type JobOutcome = 'succeeded' | FailureType;
/** `limited`: 429 or its like. `paused`: not sent, because of an earlier 429. `unanswered`: no usable answer came. */
export type CallResult = 'passed' | 'limited' | 'paused' | 'refused' | 'unanswered';
/** How a hold ended. */
export type HoldEnd = 'adopt' | 'resubmit' | 'abandon' | 'expired' | 'cancelled';
/** `retried`: this attempt failed, and another follows. */
export type WebhookResult = 'delivered' | 'retried' | 'given_up';

/** Every metric of ours. Emission, the pages, the dashboard and its test come from this table. */
export const METRICS = {
  videogen_jobs_total: {
    kind: 'counter',
    from: 'workflow',
    help: 'Jobs and items of batches that have ended, by succeeded or the failure type.',
    labels: { outcome: OUTCOMES },
  },
  videogen_job_duration_seconds: {
    kind: 'histogram',
    from: 'workflow',
    help: 'From the start of a job to its end, holds included.',
    labels: { outcome: OUTCOMES },
    buckets: SECONDS,
  },
  videogen_generation_seconds: {
    kind: 'histogram',
    from: 'workflow',
    help: 'From the answer to the submit to the poll that found the video ready.',
    labels: {},
    buckets: SECONDS,
  },
  videogen_ready_lag_seconds: {
    kind: 'histogram',
    from: 'workflow',
    help: 'How long a finished video waited for its poll at most: the time since the poll before.',
    labels: {},
    buckets: SHORT_SECONDS,
  },
  videogen_job_polls: {
    kind: 'histogram',
    from: 'workflow',
    help: 'Polls of a job that has ended.',
    labels: {},
    buckets: COUNTS,
  },
  videogen_holds_started_total: {
    kind: 'counter',
    from: 'workflow',
    help: 'Lost submits that began to wait for a decision.',
    labels: {},
  },
  videogen_holds_ended_total: {
    kind: 'counter',
    from: 'workflow',
    help: 'Lost submits that no longer wait, by what ended the hold.',
    labels: { end: ['adopt', 'resubmit', 'abandon', 'expired', 'cancelled'] satisfies HoldEnd[] },
  },
  videogen_service_calls_total: {
    kind: 'counter',
    from: 'activity',
    help: 'Calls to the video service; limited are those answered with 429.',
    labels: {
      call: ['submit', 'poll', 'download'],
      result: ['passed', 'limited', 'paused', 'refused', 'unanswered'] satisfies CallResult[],
    },
    byService: true,
  },
  videogen_submit_wait_seconds: {
    kind: 'histogram',
    from: 'activity',
    help: 'From when a submit was due to its task id, with queues, pauses and retries.',
    labels: {},
    buckets: SECONDS,
  },
  videogen_download_bytes_total: {
    kind: 'counter',
    from: 'activity',
    help: 'Bytes of videos received, also of downloads that failed later.',
    labels: {},
  },
  videogen_download_speed_bytes_per_second: {
    kind: 'histogram',
    from: 'activity',
    help: 'Speed of the attempt that stored the video.',
    labels: {},
    buckets: SPEEDS,
  },
  videogen_webhooks_total: {
    kind: 'counter',
    from: 'activity',
    help: 'Attempts to deliver a webhook.',
    labels: { result: ['delivered', 'retried', 'given_up'] satisfies WebhookResult[] },
  },
  videogen_submit_backlog: {
    kind: 'gauge',
    from: 'worker',
    help: 'Submits that wait in Temporal for a worker, about; the same on every worker of the queue.',
    labels: { task_queue: undefined },
  },
  videogen_oldest_submit_seconds: {
    kind: 'gauge',
    from: 'worker',
    help: 'How long the oldest of them has waited.',
    labels: { task_queue: undefined },
  },
  videogen_held_jobs: {
    kind: 'gauge',
    from: 'worker',
    help: 'Jobs that wait for a decision now; needs search attributes; the same on every worker of the namespace.',
    labels: {},
  },
  videogen_ready: {
    kind: 'gauge',
    from: 'process',
    help: '1 if /readyz finds this part ready, else 0.',
    labels: { part: PARTS },
    byService: true,
  },
  videogen_gateway_requests_total: {
    kind: 'counter',
    from: 'gateway',
    help: 'Answered requests by pattern of the route and HTTP status.',
    labels: { method: undefined, route: undefined, status: undefined },
  },
  videogen_gateway_request_duration_seconds: {
    kind: 'histogram',
    from: 'gateway',
    help: 'From the request to the end of its answer; event streams are not in it.',
    labels: { route: undefined },
    buckets: SHORT_SECONDS,
  },
  videogen_gateway_starts_total: {
    kind: 'counter',
    from: 'gateway',
    help: 'Videos that callers asked for and got an id for, repeated requests included.',
    labels: {},
  },
  videogen_gateway_refusals_total: {
    kind: 'counter',
    from: 'gateway',
    help: 'Requests answered with an error, by its code.',
    labels: { code: undefined },
  },
  videogen_gateway_streams: {
    kind: 'gauge',
    from: 'gateway',
    help: 'Event streams that are open.',
    labels: {},
  },
} as const satisfies Record<`videogen_${string}`, MetricRow>;

export type MetricName = keyof typeof METRICS;
export type CounterName = NameOf<'counter'>;
export type GaugeName = NameOf<'gauge'>;
export type HistogramName = NameOf<'histogram'>;

/** The labels of a metric, each with one of its values. */
export type LabelsOf<Name extends MetricName> = {
  -readonly [Label in keyof (typeof METRICS)[Name]['labels']]: ValueOf<
    (typeof METRICS)[Name]['labels'][Label]
  >;
} & ((typeof METRICS)[Name] extends { byService: true } ? { service?: string } : unknown);

type NameOf<Kind extends MetricRow['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

type ValueOf<Values> = Values extends readonly (infer Value extends string)[] ? Value : string;

function typesOf(failures: typeof FAILURES): FailureType[] {
  return Object.keys(failures).filter((type): type is FailureType => Object.hasOwn(failures, type));
}

/** All series that a metric can have, if its labels are closed; without labels, one. */
export function seriesOf(labels: MetricRow['labels']): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (series, [label, values = []]) =>
      series.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
