import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { NameTaken } from '../client/start-or-join';
import type { VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import { WORKFLOW_TYPE } from '../contract/names';
import { noSuchVideo, Refusal } from './http-errors';
import type { LimitKeeper } from './key-limits';
import { isTaskId, prefixOf, taskIdFor, taskIdOf, workflowIdOf } from './task-names';
import type { Seen, VideoBoard } from './video-board';
import { REQUEST_MEMO, toVideoObject, type VideoObject } from './video-object';
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
  client: Client;
  videos: VideoClient;
  board: VideoBoard;
  limits: LimitKeeper;
}

const CHECK_EVERY_MS = 500;

/** The videos of one caller: nobody else's can be named here. */
export class VideosOfCaller {
  constructor(
    readonly caller: string,
    private readonly baseUrl: string,
    private readonly tools: Tools,
  ) {}

  /** Starts a job, or joins the one that the same Idempotency-Key has started. */
  async start({ request, asked }: Wanted, idempotencyKey: string | undefined): Promise<VideoObject> {
    const { board, videos, limits } = this.tools;
    const taskId = taskIdFor(this.caller, idempotencyKey);
    const workflowId = workflowIdOf(this.caller, taskId);
    const isKnown = idempotencyKey !== undefined && (await board.read(workflowId)) !== undefined;
    if (!isKnown) await limits.countStart(this.caller);
    try {
      await videos.start(
        { request },
        { workflowId, temporal: { memo: { [REQUEST_MEMO]: asked }, priority: { fairnessKey: this.caller } } },
      );
    } catch (error) {
      throw error instanceof NameTaken ? keyTaken(error) : error;
    }
    board.forget(workflowId);
    return this.show(await this.find(taskId));
  }

  /** Throws a 404 for what is not there, and for what is somebody else's. */
  async find(taskId: string): Promise<Found> {
    const workflowId = workflowIdOf(this.caller, taskId);
    const seen = isTaskId(taskId) ? await this.tools.board.read(workflowId) : undefined;
    if (seen === undefined) throw noSuchVideo();
    return { ...seen, taskId, job: this.tools.videos.handle(workflowId) };
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
      if (found.ending !== undefined || leftMs <= 0 || signal.aborted) return this.show(found);
      await sleep(Math.min(CHECK_EVERY_MS, leftMs), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Newest first, after a video if one is given. */
  async list(limit: number, after: string | undefined): Promise<Page> {
    const start = after === undefined ? undefined : await this.find(after);
    const query = [
      `WorkflowType = '${WORKFLOW_TYPE}'`,
      `WorkflowId STARTS_WITH '${prefixOf(this.caller)}'`,
      ...(start ? [`StartTime <= '${start.description.startTime.toISOString()}'`] : []),
    ].join(' AND ');
    const listed: string[] = [];
    let isAfter = after === undefined;
    for await (const { workflowId } of this.tools.client.workflow.list({ query, pageSize: limit + 2 })) {
      const taskId = taskIdOf(this.caller, workflowId);
      if (isAfter && !listed.includes(taskId)) listed.push(taskId);
      if (taskId === after) isAfter = true;
      if (listed.length > limit) break;
    }
    const shown = listed.slice(0, limit).map(async (taskId) => this.show(await this.find(taskId)));
    return { videos: await Promise.all(shown), hasMore: listed.length > limit };
  }

  /** Cancels a job that runs. */
  async cancel(taskId: string): Promise<void> {
    const { job } = await this.find(taskId);
    await job.cancel();
    this.tools.board.forget(workflowIdOf(this.caller, taskId));
  }

  forget(taskId: string): void {
    this.tools.board.forget(workflowIdOf(this.caller, taskId));
  }
}

function keyTaken(error: NameTaken): Refusal {
  const [, differs = 'another request'] = /\(it (differs in [^)]*)\)/.exec(error.message) ?? [];
  return new Refusal({
    status: 409,
    code: 'idempotency_key_reused',
    message: `This Idempotency-Key was used for another request, which ${differs}.`,
    advice: 'Use another key for another request.',
    param: 'Idempotency-Key',
  });
}
