import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Info } from '@temporalio/activity';
import type { VideoActivities } from '../../activities';
import type { NumberedEvent, WorkflowEvent } from './events';

/** The workflow's part of its cancellation, by which it asks how its submit has ended. */
const INSPECTION = 'inspectPendingSubmit';
/** A workflow task that cancels has reached the server after this. */
const CANCEL_SETTLES_MS = 200;
/** A timer that is due so soon, or was a moment ago, may fire while a cancellation is under way. */
const TIMER_FIRES_WITHIN_MS = 1_000;
/** A cancellation that does not arrive: the job has ended or continued meanwhile. */
const LONGEST_CANCEL_MS = 3_000;
const CHECK_EVERY_MS = 20;

/**
 * The server's clock as one workflow's activities read it. The server skips no time while an attempt runs, so it is asked once
 * for each attempt, and advances as the machine's clock does.
 */
export class ServerClock {
  private aheadMs: number;

  constructor(
    private readonly readServer: () => Promise<number>,
    nowMs: number,
  ) {
    this.aheadMs = nowMs - Date.now();
  }

  readonly now = (): number => Date.now() + this.aheadMs;

  async set(): Promise<number> {
    const nowMs = await this.readServer();
    this.aheadMs = nowMs - Date.now();
    return nowMs;
  }
}

/** A workflow of a script: its events, and the attempts of its activities. */
export abstract class ScriptedWorkflow {
  private readonly runs = new Map<string, WorkflowEvent[]>();
  private attemptsUnderWay = 0;
  private noEndBeforeMs = 0;
  private timerDueAtMs = 0;

  constructor(
    readonly workflowId: string,
    protected readonly clock: ServerClock,
  ) {}

  abstract activities(): VideoActivities;

  record(runId: string, { number, event }: NumberedEvent): void {
    if (event.kind === 'timer') this.timerDueAtMs = event.atMs + event.ms;
    if (event.kind === 'cancel') this.noEndBeforeMs = Date.now() + CANCEL_SETTLES_MS;
    const before = this.runs.get(runId) ?? [];
    this.runs.set(runId, [...before.slice(0, number), event]);
  }

  /** The current run, or the last one. */
  get runId(): string | undefined {
    return [...this.runs.keys()].at(-1);
  }

  /** The run of the parent that started it. */
  get parentRunId(): string | undefined {
    const run = [...this.runs.values()].at(-1)?.[0];
    return run?.kind === 'run' ? run.parentRunId : undefined;
  }

  /** In order, each with the run that it belongs to. */
  get events(): (WorkflowEvent & { runId: string })[] {
    return [...this.runs].flatMap(([runId, events]) => events.map((event) => ({ ...event, runId })));
  }

  get isRunning(): boolean {
    const last = [...this.runs.values()].at(-1)?.at(-1);
    return last !== undefined && last.kind !== 'end';
  }

  /** Runs one attempt of an activity. */
  async attempt(context: Context, input: unknown, work: () => Promise<unknown>): Promise<unknown> {
    this.attemptsUnderWay += 1;
    try {
      await this.clock.set();
      return await this.run(context, input, work);
    } finally {
      this.attemptsUnderWay -= 1;
    }
  }

  protected async run({ info }: Context, _input: unknown, work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work();
    } finally {
      await this.untilMayEnd(info);
    }
  }

  protected async untilMayEnd({ activityType, isLocal }: Info): Promise<void> {
    if (activityType === INSPECTION) {
      // The workflow cancels its submit after it.
      if (this.noEndBeforeMs > 0) this.noEndBeforeMs = Date.now() + CANCEL_SETTLES_MS;
      return;
    }
    // The server knows of no local activity, and its workflow learns of a cancellation only after it.
    if (!isLocal) await this.untilCancelled();
  }

  async untilNoAttempt(): Promise<void> {
    while (this.attemptsUnderWay > 0) await sleep(CHECK_EVERY_MS);
  }

  async untilNoTimerIsDue(): Promise<void> {
    while (Math.abs(this.timerDueAtMs - (await this.clock.set())) < TIMER_FIRES_WITHIN_MS)
      await sleep(CANCEL_SETTLES_MS);
  }

  expectCancel(): void {
    this.noEndBeforeMs = Date.now() + LONGEST_CANCEL_MS;
  }

  async untilCancelled(): Promise<void> {
    while (Date.now() < this.noEndBeforeMs && this.isRunning) await sleep(CHECK_EVERY_MS);
  }
}

/**
 * Cancels a workflow, and with it its children. The test server breaks a workflow that cancels an activity which has just ended,
 * and then skips no more time; so it does for a timer that has just fired. So no timer is about to fire, and no attempt ends
 * until the workflows have cancelled what they run.
 */
export async function cancelTogether(all: ScriptedWorkflow[], send: () => Promise<unknown>): Promise<void> {
  const running = all.filter(({ isRunning }) => isRunning);
  for (const workflow of running) await workflow.untilNoTimerIsDue();
  for (const workflow of running) workflow.expectCancel();
  // It may have ended.
  await send().catch(() => undefined);
  await Promise.all(running.map((workflow) => workflow.untilCancelled()));
}
