import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { newestFirst, type StartedRun } from '../client/newest-first';
import { NameTaken } from '../client/start-or-join';
import type { VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import type { JobOptions } from '../contract/job';
import type { JobCost } from '../contract/job-cost';
import type { SubmitDecision } from '../contract/lost-submit';
import { COST_MEMO } from '../contract/names';
import type { VideoRequest } from '../contract/request';
import type { CapGuard } from './cap-guard';
import type { DeletedVideos } from './deleted-videos';
import { isUnavailable, noSuchVideo, Refusal } from './http-errors';
import type { VideoOptions } from './job-options';
import type { LimitKeeper } from './key-limits';
import { isTaskId, jobsOfCaller, taskIdFor, taskIdOf, workflowIdOf } from './task-names';
import { withDeadline } from './temporal-deadline';
import type { Seen, VideoBoard } from './video-board';
import { askedIn, REQUEST_MEMO, toVideoObject, type VideoObject } from './video-object';
import type { Wanted } from './video-requests';

export interface Found extends Seen {
  taskId: string;
  job: VideoJob;
}

export interface Page {
  videos: VideoObject[];
  hasMore: boolean;
}

interface Tools {
  /** What a request will cost, if the gateway knows prices. */
  estimate(request: VideoRequest, service: string | undefined): JobCost | undefined;
  client: Client;
  videos: VideoClient;
  board: VideoBoard;
  limits: LimitKeeper;
  deleted: DeletedVideos;
  guardCaps: CapGuard;
}

const CHECK_EVERY_MS = 500;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 2_000;

/** The videos of one caller: nobody else's can be named here. */
export class VideosOfCaller {
  constructor(
    readonly caller: string,
    private readonly baseUrl: string,
    private readonly tools: Tools,
  ) {}

  /** Starts a job, or joins the one that the same Idempotency-Key has started. */
  async start(
    { request, asked, options }: Wanted & { options?: VideoOptions },
    idempotencyKey: string | undefined,
  ): Promise<VideoObject> {
    const { client, board, videos, limits, deleted, guardCaps } = this.tools;
    const taskId = taskIdFor(this.caller, idempotencyKey);
    const workflowId = workflowIdOf(this.caller, taskId);
    const isRepeatable = idempotencyKey !== undefined;
    if (isRepeatable && (await deleted.has(workflowId))) throw videoDeleted();
    const isKnown = isRepeatable && (await board.read(workflowId)) !== undefined;
    // Of several, the first one is asked first.
    const first = options?.service ?? options?.services?.[0];
    if (!isKnown) await guardCaps(this.caller, request, first);
    const count = () => limits.countStart(this.caller, workflowId);
    const start = isKnown ? undefined : await withDeadline(client, count);
    const callback = callbackDigest(options);
    const cost = this.tools.estimate(request, first);
    const memo = {
      [REQUEST_MEMO]: { ...asked, ...(callback && { callback }) },
      ...(cost && { [COST_MEMO]: cost }),
    };
    try {
      await withDeadline(client, () =>
        videos.start(
          { ...options, request, caller: this.caller },
          { workflowId, temporal: { memo, priority: { fairnessKey: this.caller } } },
        ),
      );
      board.forget(workflowId);
      const found = await this.find(taskId);
      // Who names another receiver must not believe that it will be called.
      if (askedIn(found.description).callback !== callback) throw keyReused('differs in callback_url');
      return this.show(found);
    } catch (error) {
      // A job that may run is counted.
      const mayRun = isUnavailable(error);
      if (!mayRun) start?.release();
      if (mayRun && !isRepeatable) throw mayHaveStarted(taskId);
      throw error instanceof NameTaken ? keyTaken(error) : error;
    }
  }

  /** Throws a 404 for what is not there, and for what is somebody else's. */
  async find(taskId: string): Promise<Found> {
    const found = await this.read(taskId);
    if (found === undefined || found.isDeleted) throw noSuchVideo();
    return found;
  }

  show({ taskId, description, ending }: Found): VideoObject {
    return toVideoObject({ taskId, description, ending, baseUrl: this.baseUrl });
  }

  /** The video, when it has ended or the time is over. */
  async wait(taskId: string, waitMs: number, signal: AbortSignal): Promise<VideoObject> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const found = await this.find(taskId);
      const leftMs = untilMs - performance.now();
      if (found.ending !== undefined || leftMs <= 0 || signal.aborted) return this.showProgress(found);
      await sleep(Math.min(CHECK_EVERY_MS, leftMs), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Newest first, after a video if one is given. A client may have deleted that one meanwhile. */
  list(limit: number, after: string | undefined): Promise<Page> {
    return withDeadline(this.tools.client, () => this.listAfter(limit, after));
  }

  private async listAfter(limit: number, after: string | undefined): Promise<Page> {
    const start = after === undefined ? undefined : await this.read(after);
    if (after !== undefined && start === undefined) throw noSuchVideo();
    const cursor = start && { startTime: start.description.startTime, workflowId: start.job.workflowId };
    const listed: VideoObject[] = [];
    let found: StartedRun[] = [];
    const showFound = async () => {
      const shown = await Promise.all(
        found.map(async ({ workflowId, runId }) => {
          const one = await this.read(taskIdOf(this.caller, workflowId));
          // A job that started again is listed once for each run, and shown where its last run is.
          const isShown = one !== undefined && !one.isDeleted && one.description.runId === runId;
          return isShown ? [this.show(one)] : [];
        }),
      );
      listed.push(...shown.flat());
      found = [];
    };
    for await (const one of newestFirst(this.tools.client, jobsOfCaller(this.caller), cursor)) {
      found.push(one);
      if (listed.length + found.length > limit) await showFound();
      if (listed.length > limit) break;
    }
    await showFound();
    return { videos: listed.slice(0, limit), hasMore: listed.length > limit };
  }

  /** Cancels a job that runs; false. Removes the file and hides a video that has ended; true. */
  async delete(taskId: string): Promise<boolean> {
    const { job, ending } = await this.find(taskId);
    const { workflowId } = job;
    try {
      if (ending === undefined) await withDeadline(this.tools.client, () => job.cancel());
      else await this.tools.deleted.remove(workflowId, 'result' in ending ? ending.result : undefined);
    } finally {
      this.tools.board.forget(workflowId);
    }
    return ending !== undefined;
  }

  /** Settles a lost submit, and shows what became of it. */
  async decide(taskId: string, decision: SubmitDecision): Promise<VideoObject> {
    const { job } = await this.find(taskId);
    await withDeadline(this.tools.client, () => job.decideSubmit(decision));
    this.tools.board.forget(job.workflowId);
    return this.show(await this.find(taskId));
  }

  /** The same with the percentage that the service says, at the cost of a query. Without a worker it is 0. */
  async showProgress(found: Found): Promise<VideoObject> {
    const video = this.show(found);
    if (video.status !== 'in_progress') return video;
    return { ...video, progress: Math.min(Math.round((await this.percent(found)) ?? 0), 99) };
  }

  private percent({ job }: Found): Promise<number | undefined> {
    const { board, client } = this.tools;
    return board.percent(job.workflowId, async () => {
      const ask = () => job.progress();
      const progress = await withDeadline(client, ask, QUERY_WITHIN_MS).catch(() => undefined);
      return progress?.task?.percent;
    });
  }

  private async read(taskId: string): Promise<Found | undefined> {
    if (!isTaskId(taskId)) return undefined;
    const workflowId = workflowIdOf(this.caller, taskId);
    const seen = await this.tools.board.read(workflowId);
    return seen && { ...seen, taskId, job: this.tools.videos.handle(workflowId) };
  }
}

function keyTaken(error: NameTaken): Refusal {
  const [, differs = 'another request'] = /\(it (differs in [^)]*)\)/.exec(error.message) ?? [];
  return keyReused(differs);
}

const keyReused = (differs: string) =>
  new Refusal({
    status: 409,
    code: 'idempotency_key_reused',
    message: `This Idempotency-Key was used for another request, which ${differs}.`,
    advice: 'Use another key for another request.',
    param: 'Idempotency-Key',
  });

/** A receiver's address may have a token in it, which lists of workflows must not show. */
function callbackDigest({ callbackUrl }: JobOptions = {}): string | undefined {
  return callbackUrl ? createHash('sha256').update(callbackUrl).digest('hex').slice(0, 16) : undefined;
}

/** Clients of OpenAI repeat a 503 by themselves, and a second job is paid for. */
const mayHaveStarted = (taskId: string) =>
  new Refusal({
    status: 503,
    code: 'start_unknown',
    message: `Temporal does not answer, and ${taskId} may have started: ask for it before you repeat the request.`,
    advice: 'Send an Idempotency-Key with every POST. Then a repeated one is the same video.',
    retryAfterSeconds: 1,
    mayRepeat: false,
  });

const videoDeleted = () =>
  new Refusal({
    status: 409,
    code: 'video_deleted',
    message: 'The video of this Idempotency-Key was deleted.',
    advice: 'Use another key to make it again, which is paid again.',
    param: 'Idempotency-Key',
  });
