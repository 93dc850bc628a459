import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isTemporalError } from '../client/connect';
import { newestFirst } from '../client/list-jobs';
import { NameTaken } from '../client/start-or-join';
import type { ListedRun } from '../client/temporal-calls';
import type { VideoClient } from '../client/video-client';
import { sha256 } from '../contract/digest';
import type { SubmitDecision } from '../contract/lost-submit';
import { claimsToBeImageReference } from '../storage/images';
import type { GatewayKey } from './gateway-keys';
import { refusal } from './http-errors';
import type { LimitKeeper } from './key-limits';
import { isVideoId, jobsOfCaller, taskIdFor, videoIdIn, workflowIdOf } from './task-names';
import { withDeadline } from './temporal-deadline';
import { askedIn, REQUEST_MEMO, toVideoObject, type VideoObject } from './video-object';
import type { Wanted } from './video-requests';
import type { VideoSnapshot, VideoStates } from './video-states';

const CHECK_EVERY_MS = 500;

/** The videos of one caller: nobody else's can be named here. */
export class VideosOfCaller {
  constructor(
    private readonly caller: GatewayKey,
    /** Of the gateway, as its caller sees it. */
    private readonly baseUrl: string,
    private readonly tools: {
      client: Client;
      videos: VideoClient;
      states: VideoStates;
      limits: LimitKeeper;
    },
  ) {}

  get owner(): string {
    return this.caller.name;
  }

  /** Starts a job, or joins the one that the same Idempotency-Key has started. Its image is stored once the job is counted. */
  async start(
    { request, asked, options }: Wanted,
    idempotencyKey: string | undefined,
    storeImage: () => Promise<void>,
  ): Promise<VideoObject> {
    const { client, states, videos, limits } = this.tools;
    const taskId = taskIdFor(this.owner, idempotencyKey);
    const workflowId = workflowIdOf(this.owner, taskId);
    const isRepeatable = idempotencyKey !== undefined;
    if (isRepeatable && (await states.isDeleted(workflowId)))
      throw refusal('video_deleted', { advice: DELETED_ADVICE, param: 'Idempotency-Key' });
    const isKnown = isRepeatable && (await states.read(workflowId, taskId)) !== undefined;
    const count = () => limits.countStart(this.caller, workflowId);
    const release = isKnown ? undefined : await withDeadline(client, count);
    const callback = options.callbackUrl && digestOf(options.callbackUrl);
    const { image_url: image } = request;
    const isStored = image !== undefined && claimsToBeImageReference(image);
    const memo = {
      [REQUEST_MEMO]: { ...asked, ...(callback && { callback }), ...(isStored && { image }) },
    };
    const input = { ...options, request, caller: this.owner };
    const temporal = { memo, priority: { fairnessKey: this.owner } };
    try {
      if (!isKnown) await storeImage();
      await withDeadline(client, () => videos.start(input, { workflowId, temporal }));
      states.forget(workflowId);
      const found = await this.find(taskId);
      // A caller that names another receiver must not believe that it will be called.
      if (askedIn(found.description).callback !== callback) throw keyReused('differs in callback_url');
      return this.show(found);
    } catch (error) {
      // A job that may run is counted.
      const mayRun = isTemporalError(error);
      if (!mayRun) release?.();
      if (mayRun && !isRepeatable) throw mayHaveStarted(taskId);
      if (!(error instanceof NameTaken)) throw error;
      const [, differs = 'another request'] = /\(it (differs in [^)]*)\)/.exec(error.message) ?? [];
      throw keyReused(differs);
    }
  }

  /** Throws a 404 for what is not there, and for what is somebody else's. */
  async find(taskId: string): Promise<VideoSnapshot> {
    const found = await this.read(taskId);
    if (found === undefined || found.isDeleted) throw refusal('no_such_video');
    return found;
  }

  show({ taskId, description, ending }: VideoSnapshot): VideoObject {
    return toVideoObject(taskId, description, ending, this.baseUrl);
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
  async list(limit: number, after: string | undefined) {
    const start = after === undefined ? undefined : await this.read(after);
    if (after !== undefined && start === undefined) throw refusal('no_such_video');
    const cursor = start && { startTime: start.description.startTime, workflowId: start.job.workflowId };
    const listed: VideoObject[] = [];
    let found: ListedRun[] = [];
    const showFound = async () => {
      const shown = await Promise.all(found.map((run) => this.showListed(run)));
      listed.push(...shown.flat());
      found = [];
    };
    for await (const run of newestFirst(this.tools.client, jobsOfCaller(this.owner), cursor)) {
      found.push(run);
      if (listed.length + found.length > limit) await showFound();
      if (listed.length > limit) break;
    }
    await showFound();
    return { videos: listed.slice(0, limit), hasMore: listed.length > limit };
  }

  /** A job that started again is listed once for each run, and shown where its last run is. */
  private async showListed({ workflowId, runId }: ListedRun): Promise<VideoObject[]> {
    const one = await this.read(videoIdIn(this.owner, workflowId));
    return one && !one.isDeleted && one.description.runId === runId ? [this.show(one)] : [];
  }

  /** Cancels a job that runs; false. Removes the file and hides a video that has ended; true. */
  async delete(taskId: string): Promise<boolean> {
    const { job, ending } = await this.find(taskId);
    const { states, client } = this.tools;
    try {
      if (ending === undefined) await withDeadline(client, () => job.cancel());
      else await states.delete(job.workflowId, ending.result);
    } finally {
      states.forget(job.workflowId);
    }
    return ending !== undefined;
  }

  /** Settles a lost submit, and shows what became of it. */
  async decide(taskId: string, decision: SubmitDecision): Promise<VideoObject> {
    const { job } = await this.find(taskId);
    await withDeadline(this.tools.client, () => job.decideSubmit(decision));
    this.tools.states.forget(job.workflowId);
    return this.show(await this.find(taskId));
  }

  /** The same with the percentage that the service says, at the cost of a query. Without a worker it is 0. */
  async showProgress(found: VideoSnapshot): Promise<VideoObject> {
    const video = this.show(found);
    if (video.status !== 'in_progress') return video;
    const percent = await this.tools.states.percent(found);
    return { ...video, progress: Math.min(Math.round(percent ?? 0), 99) };
  }

  private async read(taskId: string): Promise<VideoSnapshot | undefined> {
    return isVideoId(taskId) ? this.tools.states.read(workflowIdOf(this.owner, taskId), taskId) : undefined;
  }
}

/** A receiver's address may have a token in it, which lists of workflows must not show. */
const digestOf = (callbackUrl: string) => sha256(callbackUrl).slice(0, 16);

const keyReused = (differs: string) =>
  refusal('idempotency_key_reused', {
    message: `This Idempotency-Key was used for another request, which ${differs}.`,
    advice: 'Use another key for another request.',
    param: 'Idempotency-Key',
  });

/** Clients of OpenAI repeat a 503 by themselves, and a second job is paid for. */
const mayHaveStarted = (taskId: string) =>
  refusal('start_unknown', {
    message: `Temporal does not answer, and ${taskId} may have started: ask for it before you repeat the request.`,
    advice: 'Send an Idempotency-Key with every POST. Then a repeated one is the same video.',
    mayRepeat: false,
  });

const DELETED_ADVICE = 'Use another key to make it again, which is paid again.';
