import { type ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import type { PolledTask, SubmittedTask } from '../activities';
import { cleanText, codeMarkdown, plainMarkdown } from '../src/contract/clean-text';
import { durationMs } from '../src/contract/duration';
import type { JobInput, JobPhase, JobProgress, StoredVideo } from '../src/contract/job';
import { type JobCost, mergeCosts } from '../src/contract/job-cost';
import { DEFAULT_DEADLINE_MS, DEFAULT_HOLD_MS } from '../src/contract/policies';
import { isServiceName } from '../src/contract/service-choice';
import { describeVideo } from '../src/contract/summaries';
import { createFailure, VideoFailure } from '../src/contract/video-failure';
import type { WebhookEvent } from '../src/contract/webhook';
import { SubmitHold } from './hold';
import { logJob } from './log-event';
import { notifyReceiver, tellParent } from './notify';
import type { CarriedJob } from './runs';
import { showJob } from './ui-details';

/** The state of one job. The query, the Temporal UI and continue-as-new all read it from here. */
export class Job {
  /** The workflow id. */
  readonly name = workflowInfo().workflowId;
  /** What the next run needs too. */
  readonly known: CarriedJob;
  readonly hold: SubmitHold;
  /** The record says that the video is stored. */
  isStored = false;
  failure: VideoFailure | undefined;
  phase: JobPhase = 'submitting';
  private nextPollAtMs: number | undefined;
  /** The answered poll before the last one, in milliseconds since the submit. */
  private polledBeforeMs = 0;
  private unservedQueue: string | undefined;
  /** Markdown for the Temporal UI, once the job has ended. */
  private ending: string | undefined;
  private readonly deadlineMs: number;

  /** Null counts as absent: some languages send it for a field that is not set. */
  readonly input: JobInput;

  constructor(given: JobInput, carried?: CarriedJob) {
    const fields = Object.entries(Object(given));
    const input: JobInput = Object(Object.fromEntries(fields.filter(([, value]) => value != null)));
    this.input = input;
    this.known = carried ?? {
      service: isServiceName(input.service) ? input.service : undefined,
      nextPollMs: 0,
      isAdopted: false,
      startedAtMs: Date.now(),
      submittedAtMs: Date.now(),
      pollRequested: false,
      polls: 0,
      polledMs: 0,
    };
    this.deadlineMs = durationMs(input.deadline) ?? DEFAULT_DEADLINE_MS;
    this.hold = new SubmitHold(durationMs(input.holdFor) ?? DEFAULT_HOLD_MS, carried?.pastHoldsMs);
  }

  /** The task, for what only a job with a task does. */
  get ownTaskId(): string {
    if (this.known.taskId === undefined)
      throw createFailure('Unexpected', { message: 'the job has no task' });
    return this.known.taskId;
  }

  enter(phase: JobPhase): void {
    this.phase = phase;
    this.show();
  }

  /** From here on every failure, log line and detail names the task. The next phase begins at once, and shows it. */
  recordSubmitted({ cost, isStored = false, ...task }: SubmittedTask): void {
    this.isStored = isStored;
    this.addCost(cost);
    Object.assign(this.known, { service: undefined, submittedAtMs: Date.now() }, task);
    tellParent({ taskId: task.taskId });
  }

  /** Takes a task that this job did not submit. The one who named it may be mistaken. */
  recordAdopted(task: SubmittedTask): void {
    this.known.isAdopted = true;
    this.recordSubmitted(task);
    logJob(this, 'adopted');
  }

  private addCost(cost: JobCost | undefined): void {
    this.known.cost = mergeCosts(this.known.cost, cost);
  }

  /** What a caller gets that waits for the task id; undefined while there is nothing to say. */
  taskOrFailure(): string | ApplicationFailure | undefined {
    if (this.known.taskId !== undefined) return this.known.taskId;
    if (this.failure !== undefined) return createFailure(this.failure.type, this.failure.details);
    return this.hold.failure(this.name);
  }

  async notifyReceiver(event: WebhookEvent): Promise<void> {
    const { taskId, cost, route } = this.known;
    const { callbackUrl: url } = this.input;
    // Only a hold can begin more than once.
    const count = event === 'video.needs_decision' ? this.hold.count : 1;
    const failure = this.failure?.type;
    await notifyReceiver({ count, url, event, taskId, failure, ...(cost && { cost }) }, route);
  }

  showUnserved(queue: string | undefined): void {
    if (queue === this.unservedQueue) return;
    this.unservedQueue = queue;
    this.show();
  }

  planPoll(delayMs: number): void {
    this.nextPollAtMs = Date.now() + delayMs;
    this.show();
  }

  /** The next poll is planned at once, or the next phase begins, and shows it. */
  recordStatus(status: PolledTask): void {
    const { known } = this;
    const { state, word, nextPollMs, progress, charged, percent } = { percent: undefined, ...status };
    const isWithoutVideo = status.state === 'succeeded' && !status.hasVideo;
    this.polledBeforeMs = known.polledMs;
    Object.assign(known, {
      polls: known.polls + 1,
      task: { state, word: cleanText(word), percent },
      polledMs: this.waitedMs(),
      nextPollMs,
      progress,
      problem: isWithoutVideo ? this.withoutVideo() : undefined,
      retryAfterMs: undefined,
    });
    if (charged) this.addCost({ charged });
  }

  /** The task succeeded, and there is no video. Only such polls in a row count. */
  private withoutVideo(): JobProgress['problem'] {
    const { problem } = this.known;
    const { type, message } = new VideoFailure('NoVideo');
    return { type, message, count: problem?.type === type ? problem.count + 1 : 1 };
  }

  recordPollFailure({ type, message, details: { retryAfter } }: VideoFailure): void {
    const { known } = this;
    known.polls++;
    known.problem = { type, message, count: (known.problem?.count ?? 0) + 1 };
    known.retryAfterMs = retryAfter === undefined ? undefined : retryAfter * 1_000;
  }

  /** How long a video that was found ready may have been so. */
  get lagMs(): number {
    return this.known.polledMs - this.polledBeforeMs;
  }

  markSucceeded(video: StoredVideo, warnings: string[]): void {
    const notes = warnings.map((warning) => `Note: ${warning}.`);
    const lines = [describeVideo(video), ...notes].map(plainMarkdown);
    this.ending = [codeMarkdown(video.uri), ...lines].join('\n\n');
    this.enter('succeeded');
  }

  markFailed(failure: VideoFailure, atService = ''): void {
    this.failure = failure;
    this.ending = [plainMarkdown(failure.message), atService].filter(Boolean).join('\n\n');
    this.enter(failure.type === 'Cancelled' ? 'cancelled' : 'failed');
  }

  waitedMs(): number {
    return Date.now() - this.known.submittedAtMs;
  }

  remainingMs(): number {
    return Math.max(0, this.deadlineAtMs() - Date.now());
  }

  private deadlineAtMs(): number {
    return this.known.startedAtMs + this.deadlineMs + this.hold.heldMs;
  }

  carry(): CarriedJob {
    return { ...this.known, pastHoldsMs: this.hold.heldMs };
  }

  progress(): JobProgress {
    const { taskId, service, task, polls, startedAtMs, cost, problem } = this.known;
    const { phase, nextPollAtMs, unservedQueue } = this;
    return {
      phase,
      taskId,
      ...(service && { service }),
      task,
      polls,
      startedAt: isoTime(startedAtMs),
      deadlineAt: isoTime(this.deadlineAtMs()),
      nextPollAt: phase === 'waiting' && nextPollAtMs !== undefined ? isoTime(nextPollAtMs) : undefined,
      cost,
      hold: this.hold.progress(),
      problem,
      ...(unservedQueue && { unservedQueue }),
    };
  }

  private show(): void {
    showJob(this.progress(), { ending: this.ending, failure: this.failure?.type });
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
