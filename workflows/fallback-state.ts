import { type ApplicationFailure, setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { durationMs } from '../src/contract/duration';
import { describeAttempts, refusedAttempt, type ServiceAttempt } from '../src/contract/failure-details';
import type { ChildNews, FallbackInput } from '../src/contract/fallback';
import type { JobPhase, JobProgress, JobResult } from '../src/contract/job';
import type { JobCost } from '../src/contract/job-cost';
import { describeDecisionCommands } from '../src/contract/lost-submit';
import { SERVICE_MEMO } from '../src/contract/names';
import { DEFAULT_DEADLINE_MS, DEFAULT_FALLBACK_AFTER_MS } from '../src/contract/policies';
import { cutToBytes } from '../src/contract/sizes';
import { createFailure, describeEvent, VideoFailure } from '../src/contract/video-failure';
import type { WebhookEvent } from '../src/contract/webhook';
import { logEvent } from './log-event';
import { deliver } from './notify';
import { madeFor, tellParent } from './tell-parent';
import { currentDetails, updateMemo, updateSearchAttributes } from './ui-details';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** Leaves room in the message of a failure for what became of the services before. */
const LONGEST_OWN_MESSAGE_BYTES = 600;

/** What a job with several services knows: whose turn it is, and what that one's job tells it. */
export class FallbackState {
  private readonly startedAtMs = Date.now();
  private readonly deadlineMs: number;
  private readonly attempts: ServiceAttempt[] = [];
  private phase: JobPhase = 'submitting';
  private service: string | undefined;
  private child: string | undefined;
  private taskId: string | undefined;
  private hold: JobProgress['hold'];
  private holds = 0;
  private failure: VideoFailure | undefined;
  private cost: JobCost | undefined;
  private webhook: JobProgress['webhook'];

  hasDefaultReceiver = false;

  constructor(readonly input: FallbackInput) {
    this.deadlineMs = durationMs(input.deadline) ?? DEFAULT_DEADLINE_MS;
  }

  remainingMs(): number {
    return Math.max(SHORTEST_TURN_MS, this.startedAtMs + this.deadlineMs - Date.now());
  }

  /** How long a service is tried, so that those after it have time too. */
  turnMs(left: number): number {
    const afterMs = durationMs(this.input.fallbackAfter) ?? DEFAULT_FALLBACK_AFTER_MS;
    return Math.max(SHORTEST_TURN_MS, Math.floor(Math.min(afterMs, this.remainingMs() / (left + 1))));
  }

  startTurn(service: string, child: string): void {
    this.service = service;
    this.child = child;
    if (workflowInfo().memo?.[SERVICE_MEMO] !== service) upsertMemo({ [SERVICE_MEMO]: service });
    this.show();
  }

  recordRefused(service: string, { type, details }: VideoFailure, next: string | undefined): void {
    const attempt = refusedAttempt(service, type, describeEvent(type, details));
    this.attempts.push(attempt);
    const { failure: failureType, message: reason } = attempt;
    logEvent('nextService', { service, failureType, reason, next });
  }

  recordMade(service: string): ServiceAttempt[] {
    this.attempts.push({ service, outcome: 'made' });
    return this.attempts;
  }

  /** Any program can send a signal, of any shape. */
  recordNews({ name, taskId, hold }: ChildNews): void {
    if (name !== this.child) return;
    if (hold !== undefined) this.recordHold(hold);
    if (typeof taskId === 'string') {
      this.taskId = taskId;
      this.phase = 'waiting';
    }
    this.show();
  }

  private recordHold(hold: NonNullable<ChildNews['hold']> | null): void {
    if (hold && !this.hold) {
      this.holds++;
      void this.notify('video.needs_decision');
    }
    this.hold = hold ?? undefined;
    this.phase = hold ? 'needs-decision' : 'submitting';
    tellParent({ hold });
  }

  /** What a caller gets that waits for the task id; undefined while there is nothing to say. */
  taskOrFailure(): string | ApplicationFailure | undefined {
    if (this.taskId !== undefined) return this.taskId;
    if (this.failure) return createFailure(this.failure.type, this.failure.details);
    if (this.hold === undefined) return undefined;
    const { since, until, message } = this.hold;
    const commands = describeDecisionCommands(workflowInfo().workflowId);
    return createFailure('SubmitUnconfirmed', {
      service: this.service,
      message: `${message.replace(/[.\s]+$/, '')}; the job is held until ${until}: ${commands}`,
      heldSince: since,
      heldUntil: until,
    });
  }

  /** The failure of the last service, with what became of those before it. */
  explain({ type, details }: VideoFailure): VideoFailure {
    const attempts = this.attempts;
    if (details.taskId !== undefined || this.service === undefined)
      return new VideoFailure(type, { ...details, attempts });
    const own = cutToBytes(details.message ?? '', LONGEST_OWN_MESSAGE_BYTES).replace(/[.\s]+$/, '');
    const message = [own, describeAttempts(this.service, attempts)].filter(Boolean).join('; ');
    return new VideoFailure(type, { ...details, message, attempts });
  }

  async end(phase: 'succeeded' | 'failed' | 'cancelled', end: JobResult | VideoFailure): Promise<void> {
    this.failure = end instanceof VideoFailure ? end : undefined;
    this.cost = end instanceof VideoFailure ? end.details.cost : end.cost;
    if (end.taskId !== undefined) this.taskId = end.taskId;
    this.phase = phase;
    this.child = undefined;
    this.hold = undefined;
    this.show(end instanceof VideoFailure ? plainMarkdown(end.message) : codeMarkdown(end.video.uri));
    await this.notify(this.failure ? 'video.failed' : 'video.completed');
  }

  private async notify(event: WebhookEvent): Promise<void> {
    const { callbackUrl } = this.input;
    if (madeFor() || (callbackUrl == null && !this.hasDefaultReceiver)) return;
    this.webhook = await deliver({
      event,
      count: event === 'video.needs_decision' ? this.holds : 1,
      url: callbackUrl ?? undefined,
      taskId: this.taskId,
      failure: this.failure?.type,
      cost: this.cost,
      attempts: this.attempts,
    });
    this.show();
  }

  /** What the child does, the child itself says. */
  progress(): JobProgress {
    const { phase, taskId, service, attempts, child, hold, cost, webhook, startedAtMs } = this;
    const startedAt = new Date(startedAtMs).toISOString();
    const deadlineAt = new Date(startedAtMs + this.deadlineMs).toISOString();
    return { phase, taskId, service, attempts, child, polls: 0, startedAt, deadlineAt, hold, cost, webhook };
  }

  private show(ending?: string): void {
    const at = this.child && `The job at this service is the child workflow ${codeMarkdown(this.child)}.`;
    const progress = this.progress();
    const tried = this.attempts.map((attempt) => `- ${describeAttempt(attempt)}`).join('\n');
    const ends = [tried, ending ?? at].filter(Boolean).join('\n\n');
    setCurrentDetails(currentDetails(progress, ends, this.child ?? workflowInfo().workflowId));
    updateMemo(progress);
    updateSearchAttributes({ ...progress, failure: this.failure?.type });
  }
}

function describeAttempt(attempt: ServiceAttempt): string {
  const became = attempt.outcome === 'made' ? 'made the task' : `no task: ${plainMarkdown(attempt.message)}`;
  return `${codeMarkdown(attempt.service)}: ${became}`;
}
