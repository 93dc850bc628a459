import { metricMeter } from '@temporalio/workflow';
import { count, type HoldEnd, type JobOutcome, observe } from '../src/contract/metrics';
import type { Job } from './job';

// Metrics are no commands, so histories stay as they are. The SDK's meter drops what a replay measures again.

/** Of an adopted task it is not known when it began. */
export function measureReady(job: Job): void {
  if (job.known.isAdopted) return;
  observe(metricMeter, 'videogen_generation_seconds', seconds(job.waitedMs()));
  observe(metricMeter, 'videogen_ready_lag_seconds', seconds(job.lagMs));
}

export function measureEnd(job: Job): void {
  const { taskId, polls, startedAtMs } = job.known;
  const outcome: JobOutcome = job.failure?.type ?? 'succeeded';
  count(metricMeter, 'videogen_jobs_total', { outcome });
  observe(metricMeter, 'videogen_job_duration_seconds', seconds(Date.now() - startedAtMs), { outcome });
  if (taskId !== undefined) observe(metricMeter, 'videogen_job_polls', polls);
}

export function measureHold(): void {
  count(metricMeter, 'videogen_holds_started_total');
}

export function measureHoldEnd(end: HoldEnd): void {
  count(metricMeter, 'videogen_holds_ended_total', { end });
}

const seconds = (ms: number) => ms / 1_000;
