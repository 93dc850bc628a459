import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { FailureType } from './failure-table';

// What workflows and activities measure, by the SDK's meter. Names have the base unit at their end; labels have few values,
// never an id or a text. docs/observability.md lists them.

export const COUNTERS = {
  videogen_jobs_total: 'Ended jobs and batch items, by succeeded or the failure type.',
  videogen_holds_started_total: 'Lost submits that began to wait for a decision.',
  videogen_holds_ended_total: 'Lost submits that no longer wait, by what ended the hold.',
  videogen_service_calls_total: 'Calls to the video service, by result; limited means 429.',
  videogen_download_bytes_total: 'Bytes of videos received, including downloads that failed later.',
  videogen_webhooks_total: 'Attempts to deliver a webhook.',
} as const;

export const HISTOGRAMS = {
  videogen_job_duration_seconds: 'Time from the start of a job to its end, including holds.',
  videogen_generation_seconds: 'Time from the answer to the submit to the poll that found the video.',
  videogen_ready_lag_seconds:
    'The longest that a finished video may have waited for its poll: the time since the previous poll.',
  videogen_job_polls: 'Polls of a job that has ended.',
  videogen_submit_wait_seconds: 'From when a submit was due to its task id, with queues, pauses and retries.',
  videogen_download_speed_bytes_per_second: 'Speed of the attempt that stored the video.',
} as const;

/** How a job ended: as the search attribute VideoOutcome says it. */
export type JobOutcome = 'succeeded' | FailureType;

/** How a hold ended. */
export const HOLD_ENDS = ['adopt', 'resubmit', 'abandon', 'expired', 'cancelled'] as const;

/**
 * Adds to a counter. Exporters for Prometheus append `_total`, as ours does; the unit is in the name, or they would append it
 * too.
 */
export function count(
  meter: MetricMeter,
  name: keyof typeof COUNTERS,
  labels: MetricTags = {},
  by = 1,
): void {
  measure(() => meter.createCounter(name.replace(/_total$/, ''), '', COUNTERS[name]).add(by, labels));
}

/** Records a value in a histogram; the SDK refuses negative ones, and clocks may differ. */
export function observe(
  meter: MetricMeter,
  name: keyof typeof HISTOGRAMS,
  value: number,
  labels: MetricTags = {},
): void {
  measure(() =>
    meter.createHistogram(name, 'float', '', HISTOGRAMS[name]).record(Math.max(value, 0), labels),
  );
}

/** What cannot be measured must not turn a paid answer into a lost one. */
function measure(record: () => void): void {
  try {
    record();
  } catch {
    // A value is missing in the metrics, and nothing else.
  }
}
