import { activityInfo, metricMeter } from '@temporalio/activity';
import type { Call } from '../src/contract/failure-table';
import { count, observe } from '../src/contract/metrics';
import { ServiceFault } from '../src/service/service-fault';
import { logEvent } from './log-event';

/** `limited`: 429 or its like. `paused`: not sent, because of an earlier 429. `unanswered`: no usable answer came. */
type CallResult = 'passed' | 'limited' | 'paused' | 'refused' | 'unanswered';

/** Counts one call, unless its error is not about the service: a cancellation, or a fault of the storage. */
export function measureCall(call: Call, result: CallResult | undefined, service?: string): void {
  if (result === undefined) return;
  const labels = { call, result, ...(service !== undefined && { service }) };
  measured(() => count(metricMeter, 'videogen_service_calls_total', labels));
}

export function callResultOf(error: unknown): CallResult | undefined {
  if (!(error instanceof ServiceFault)) return undefined;
  if (error.facts.limited) return 'limited';
  return RESULTS[error.kind];
}

const RESULTS: Record<ServiceFault['kind'], CallResult | undefined> = {
  answered: 'refused',
  refused: 'refused',
  cut: 'unanswered',
  unreadable: 'unanswered',
  'not-sent': 'unanswered',
  'not-allowed': undefined,
};

/** From the server's clock to ours: as exact as the two agree. */
export function measureSubmitWait(): void {
  const waitedMs = Date.now() - activityInfo().scheduledTimestampMs;
  measured(() => observe(metricMeter, 'videogen_submit_wait_seconds', waitedMs / 1_000));
}

export function measureReceived(bytes: number): void {
  if (bytes > 0) measured(() => count(metricMeter, 'videogen_download_bytes_total', {}, bytes));
}

export function measureSpeed(bytes: number, tookMs: number): void {
  const speed = bytes / Math.max(tookMs / 1_000, 0.001);
  measured(() => observe(metricMeter, 'videogen_download_speed_bytes_per_second', speed));
}

/** `retried`: this attempt failed, and another follows. */
export function measureWebhook(result: 'delivered' | 'retried' | 'given_up'): void {
  measured(() => count(metricMeter, 'videogen_webhooks_total', { result }));
}

/** What cannot be measured must not turn a paid answer into a lost one. */
function measured(measure: () => void): void {
  try {
    measure();
  } catch (error) {
    logEvent('notMeasured', { reason: String(error) });
  }
}
