import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { RetryRefused } from '../../src/client/refusals';
import { DecisionRefused } from '../../src/contract/lost-submit';
import { VideoFailure } from '../../src/contract/video-failure';
import { reset } from '../support/reset';
import { gatewayName, type PlannedJob, workerName } from './plan';
import { note, type Programs } from './programs';

/** What the caller of a job was told in the end. */
export type Told =
  | { kind: 'video'; taskId: string; sha256: string }
  | { kind: 'failure'; type: string; message: string; taskId?: string }
  | { kind: 'batch' };

export interface CalledJob {
  job: PlannedJob;
  told?: Told;
  /** What did not go as it must. */
  flaws: string[];
  /** The id that the gateway answered. */
  videoId?: string;
  /** What was really done to it. */
  done: string[];
}

const TRY_AGAIN_MS = 500;
const POLLING = { min: '1s', max: '1s' } as const;
/** A call to a gateway that is frozen or behind a stalled line. */
const HTTP_WITHIN_MS = 8_000;
const MOST_RETRIES = 4;
const POST_WITHIN_MS = 30_000;
/** Errors that answer a call, so that the same call again would end the same. */
const ANSWERS = [VideoFailure, RetryRefused, DecisionRefused, WorkflowNotFoundError];
/** With these nothing is wrong with the job, so that its caller tries again. */
const TRIED_AGAIN = [
  'StorageFailed',
  'ServiceUnreachable',
  'ServiceFailed',
  'RateLimited',
  'VideoUnavailable',
  'VideoCorrupt',
  'NoVideo',
  'DeadlineExceeded',
  'Unexpected',
  'AnswerUnreadable',
];

/** Starts the jobs of a plan and follows each until it has ended, as the docs tell callers to. */
export class Callers {
  readonly called: CalledJob[];

  constructor(
    private readonly programs: Programs,
    planned: readonly PlannedJob[],
    private readonly signal: AbortSignal,
  ) {
    this.called = planned.map((job) => ({ job, flaws: [], done: [] }));
  }

  /** Ends when all jobs have. */
  async run(): Promise<void> {
    await Promise.all(
      this.called.map(async (called) => {
        await this.wait(called.job.startAtMs);
        await this.call(called);
      }),
    ).catch((error: unknown) => {
      if (!this.signal.aborted) throw error;
    });
  }

  private async call(called: CalledJob): Promise<void> {
    const { kind } = called.job;
    const call =
      kind === 'gateway' ? this.byGateway(called) : kind === 'batch' ? this.batch(called) : this.own(called);
    const meddling = this.meddle(called).catch((error: unknown) => {
      if (!this.signal.aborted) called.flaws.push(`the interference failed: ${error}`);
    });
    called.told = await call;
    await meddling;
    // One that was reset, or started by the other caller, after its end has another end.
    const mayGoOn = called.done.some((what) => what === 'reset' || what === 'caller dies');
    if (mayGoOn && called.told.kind === 'failure') called.told = await this.own(called);
  }

  private wait(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.signal });
  }

  /** Until it works: Temporal, the gateway and the lines between may be down. */
  private async again<T>(what: string, call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (ANSWERS.some((known) => error instanceof known)) throw error;
        note(this.programs.folder, `${what}: ${String(error).slice(0, 200)}`);
        await this.wait(TRY_AGAIN_MS);
      }
    }
  }

  private async own(called: CalledJob): Promise<Told> {
    const { job, done } = called;
    const request = { prompt: job.prompts[0] ?? '' };
    const input = {
      request,
      polling: POLLING,
      ...(job.kind === 'fallback' && { services: ['alpha', 'beta'] }),
      ...(job.resubmits && { onLostSubmit: 'resubmit' as const }),
    };
    let { name } = job;
    const start = async () => {
      if (name === job.name)
        await this.again(`start ${name}`, () => this.programs.videos.start(input, { workflowId: name }));
    };
    for (let retries = 0; ; ) {
      await start();
      const told = await this.told(name);
      if (told.kind === 'video') return told;
      const child = /belongs to the job ([^,\s]+)/.exec(told.message)?.[1];
      if (child !== undefined && retries < MOST_RETRIES) {
        retries++;
        name = child;
        continue;
      }
      // The end of a run that somebody terminates is no end: it is started again.
      const isTerminated = told.type === 'Cancelled' && !done.includes('cancel');
      if (retries++ === MOST_RETRIES || !(isTerminated || TRIED_AGAIN.includes(told.type))) return told;
      if (isTerminated && told.taskId === undefined && name === job.name) continue;
      const next = await this.retried(name);
      if (next === undefined) return told;
      name = next;
    }
  }

  /** The name under which it continues; undefined if it does not. */
  private async retried(name: string): Promise<string | undefined> {
    try {
      const { workflowId } = await this.again(`retry ${name}`, () => this.programs.videos.retry(name));
      return workflowId;
    } catch (error) {
      if (!(error instanceof RetryRefused)) throw error;
      // Its first retry may have started without an answer, and ended.
      return /as (\S+-retry-\d+)/.exec(error.message)?.[1];
    }
  }

  /** With the client of now: one from before a rotation of the keys could not read the answer. */
  private async told(name: string): Promise<Exclude<Told, { kind: 'batch' }>> {
    try {
      const { taskId, video } = await this.again(`result ${name}`, () =>
        this.programs.videos.handle(name).result(),
      );
      return { kind: 'video', taskId, sha256: video.sha256 };
    } catch (error) {
      if (!(error instanceof VideoFailure)) throw error;
      const { type, message, taskId } = error;
      return { kind: 'failure', type, message, ...(taskId && { taskId }) };
    }
  }

  private async batch({ job }: CalledJob): Promise<Told> {
    const { name, prompts } = job;
    const requests = prompts.map((prompt) => ({ prompt }));
    for (let retries = 0; ; retries++) {
      try {
        await this.again(`start ${name}`, () =>
          this.programs.videos.startBatch({ requests, polling: POLLING }, { workflowId: name }),
        );
        const { failed } = await this.again(`result ${name}`, () =>
          this.programs.videos.batch(name).result(),
        );
        if (failed === 0 || retries >= 1) return { kind: 'batch' };
      } catch (error) {
        if (!(error instanceof VideoFailure) || retries > MOST_RETRIES) throw error;
      }
    }
  }

  private async byGateway(called: CalledJob): Promise<Told> {
    const { job, done } = called;
    const { plan } = this.programs;
    let number = 0;
    const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
      // A caller whose gateway does not answer asks the other one.
      number = (number % plan.gateways) + 1;
      const response = await fetch(`${this.programs.gatewayUrl(number)}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${this.programs.gatewayKey}`, ...init.headers },
        signal: AbortSignal.timeout(HTTP_WITHIN_MS),
      });
      if (response.status >= 500 || response.status === 429)
        throw new Error(`${gatewayName(number)} answered ${response.status}: ${await response.text()}`);
      return response;
    };
    const post = async () => {
      const response = await ask('/v1/videos/text-to-video', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': job.name },
        body: JSON.stringify({ prompt: job.prompts[0] }),
      });
      if (!response.ok) throw new Error(`the POST was answered ${response.status}: ${await response.text()}`);
      return String(Object(await response.json()).id);
    };
    const id = await this.again(`POST ${job.name}`, post);
    called.videoId = id;
    const { interference } = job;
    if (interference?.kind === 'cancel') {
      await this.wait(interference.atMs);
      await this.again(`DELETE ${id}`, () => ask(`/v1/videos/${id}`, { method: 'DELETE' }));
      done.push('cancel');
    }
    for (;;) {
      const response = await this.again(`GET ${id}`, () => ask(`/v1/videos/${id}`));
      // A DELETE of one that had ended removed it from the list.
      if (response.status === 404 && done.includes('cancel'))
        return { kind: 'failure', type: 'Deleted', message: 'deleted' };
      const video = Object(await response.json());
      if (video.status === 'completed') {
        const sha256 = await this.again(`content ${id}`, async () => {
          const content = await ask(`/v1/videos/${id}/content`);
          const bytes = Buffer.from(await content.arrayBuffer());
          if (!content.ok) throw new Error(`the content was answered ${content.status}`);
          return hash('sha256', bytes);
        });
        if (sha256 !== video.video.sha256)
          called.flaws.push(`the gateway sent ${sha256} as ${video.video.sha256}`);
        return { kind: 'video', taskId: video.service_task_id, sha256 };
      }
      if (video.status === 'failed') {
        const { code, message } = video.error;
        return { kind: 'failure', type: code, message, taskId: video.service_task_id ?? undefined };
      }
      await this.wait(1_000);
    }
  }

  private async meddle(called: CalledJob): Promise<void> {
    const { job, done } = called;
    const { interference, name, kind } = job;
    if (interference === undefined || kind === 'gateway') return;
    const handle = this.programs.client.workflow.getHandle(name);
    /** Does it once; not to a job that has ended or not begun. */
    const once = async (what: string, work: () => Promise<unknown>) => {
      try {
        await this.again(`${what} ${name}`, work);
        done.push(what);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    };
    if ('atMs' in interference) await this.wait(interference.atMs);
    switch (interference.kind) {
      case 'cancel':
        // Said before, because the end of the job may be told first.
        done.push('cancel');
        return once('cancelled', () => handle.cancel());
      case 'terminate':
        return once('terminate', () => handle.terminate('chaos'));
      case 'terminate-after-post':
        if ((await this.untilPost(job)) === undefined) return;
        return once('terminate', () => handle.terminate('chaos'));
      case 'cancel-in-backoff': {
        const worker = await this.untilPost(job);
        if (worker === undefined) return;
        const part = this.programs.part(workerName(worker));
        if (!part.isBusy) await part.kill(0);
        for (let left = 200; left > 0 && called.told === undefined; left--) {
          if (await this.waitsInSubmit(name)) {
            done.push('cancel');
            return once('cancelled in backoff', () => handle.cancel());
          }
          await this.wait(150);
        }
        return;
      }
      case 'reset':
        return once('reset', () => reset(this.programs.client, { workflowId: name }));
      case 'caller-dies':
        return once('caller dies', async () => {
          await this.programs.videos.start(
            { request: { prompt: job.prompts[0] ?? '' }, polling: POLLING },
            { workflowId: name },
          );
        });
    }
  }

  /** The worker that has sent its request; undefined if none does. */
  private untilPost({ prompts }: PlannedJob): Promise<number | undefined> {
    return this.programs.nextPost(JSON.stringify(prompts[0]), POST_WITHIN_MS);
  }

  private async waitsInSubmit(name: string): Promise<boolean> {
    try {
      const { raw } = await this.programs.client.workflow.getHandle(name).describe();
      return Boolean(
        raw.pendingActivities?.some(
          ({ activityType, attempt, state }) =>
            activityType?.name === 'submitVideo' && Number(attempt) > 1 && state !== STARTED,
        ),
      );
    } catch {
      return false;
    }
  }
}

/** Temporal's number for an attempt that runs. */
const STARTED = 2;
