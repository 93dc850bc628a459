import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { type ItemResult, parseResults, resultsKey } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import { type EmulatedTask, type Emulator, type Faults, startEmulator } from '../../src/emulator';
import { createVideoService, RateLimiter, type VideoService } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { filesIn } from '../support/stored-files';
import type { Note, NumberedNote } from './notes';
import type { BatchScript, ItemScript } from './script';
import {
  downloadFault,
  ENDINGS,
  LINK_FAULTS,
  pollFault,
  REQUEST,
  type Scene,
  type StageClock,
  type StageTools,
  submitFault,
  UNKNOWN_TASK,
  VIDEO_BYTES,
} from './stage';

/** Items are told apart by their prompts. */
export function requestOf(item: number): VideoRequest {
  return { ...REQUEST, prompt: `Fox ${item}`, seed: item };
}

/** The key of the file with the requests, in the storage. */
export const REQUESTS_FILE = 'requests.jsonl';

function linesOf({ items }: BatchScript): string {
  return items.map((_, index) => `${JSON.stringify(requestOf(index + 1))}\n`).join('');
}

/** All that happened to one batch. */
export interface BatchPerformance {
  workflowId: string;
  script: BatchScript;
  notes: Note[];
  /** The tasks that were paid for, by item. */
  generations: { taskId: string; item: number }[];
  /** How often each task was polled, but for its link. */
  polls: Record<string, number>;
  results: ItemResult[];
  files: string[];
  /** The items whose stored file is not their video. */
  storedWrong: number[];
  ended: boolean;
}

/** One batch's own service, storage and rate limiter, with a script for each item. */
export class BatchStage implements Scene {
  readonly rateLimiter = new RateLimiter();
  private readonly runs = new Map<string, Note[]>();
  private readonly items: ItemScript[];
  private readonly polls: Record<string, number> = {};
  private lastCall: Promise<unknown> = Promise.resolve();
  readonly service: VideoService;
  readonly storage: VideoStorage;

  private constructor(
    readonly workflowId: string,
    readonly script: BatchScript,
    private readonly folder: string,
    private readonly emulator: Emulator,
    private readonly real: VideoService,
    private readonly clock: StageClock,
  ) {
    this.items = structuredClone(script.items);
    this.service = this.scriptedService();
    this.storage = createFileStorage(folder);
  }

  static async set(
    workflowId: string,
    script: BatchScript,
    { clock, folder }: StageTools,
  ): Promise<BatchStage> {
    const { jobTimeMs, idempotencyKeys, servicePolling } = script;
    const emulator = await startEmulator({
      clock: clock.now,
      jobTimeMs,
      idempotencyKeys,
      videoBytes: VIDEO_BYTES,
    });
    const service = createVideoService({
      baseUrl: emulator.url,
      apiKey: () => emulator.apiKey,
      profile: servicePolling && { polling: servicePolling },
    });
    const own = join(folder, workflowId);
    await mkdir(own);
    if (script.fromFile) await writeFile(join(own, REQUESTS_FILE), linesOf(script));
    return new BatchStage(workflowId, script, own, emulator, service, clock);
  }

  taskId(generation: number | 'unknown', item = 1): string {
    const tasks = this.emulator.generations().filter((task) => itemOf(task) === item);
    return (generation === 'unknown' ? undefined : tasks[generation]?.taskId) ?? UNKNOWN_TASK;
  }

  /** No script cancels a batch. */
  async cancel(): Promise<void> {}

  get hasEnded(): boolean {
    return [...this.runs.values()].some((notes) => notes.at(-1)?.kind === 'end');
  }

  takeNote(runId: string, { number, note }: NumberedNote): void {
    const notes = this.runs.get(runId) ?? [];
    notes.length = number;
    this.runs.set(runId, [...notes, note]);
  }

  async attempt(_context: Context, work: () => Promise<unknown>): Promise<unknown> {
    await this.clock.set();
    return work();
  }

  /** Collects what happened, and ends everything. */
  async clear(ended: boolean): Promise<BatchPerformance> {
    const { workflowId, script, polls } = this;
    const results = await readFile(join(this.folder, resultsKey(workflowId)), 'utf8').then(
      parseResults,
      () => [],
    );
    const storedWrong: number[] = [];
    for (const result of results) {
      if (result.outcome === 'succeeded' && !(await this.isStored(result))) storedWrong.push(result.item);
    }
    const performance = {
      ...{ workflowId, script, polls, results, storedWrong, ended },
      notes: [...this.runs.values()].flat(),
      generations: this.emulator.generations().map((task) => ({ taskId: task.taskId, item: itemOf(task) })),
      files: await filesIn(this.folder),
    };
    await this.real.close();
    await this.emulator.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return performance;
  }

  private async isStored({
    taskId,
    item,
    video,
  }: Extract<ItemResult, { outcome: 'succeeded' }>): Promise<boolean> {
    const isOwn = this.emulator.generations().some((task) => task.taskId === taskId && itemOf(task) === item);
    if (!isOwn) return false;
    const stored = await readFile(new URL(video.uri));
    return stored.equals(await this.emulator.video(taskId));
  }

  private scriptedService(): VideoService {
    const { real, emulator } = this;
    return {
      profile: real.profile,
      submit: (request, options) =>
        this.inTurn(async () => {
          const answer = this.items[Number(request.seed) - 1]?.submits.shift();
          const fault = answer && submitFault(answer);
          if (fault) emulator.next('submit', fault);
          return real.submit(request, options).finally(() => this.endTasksAsScripted());
        }),
      poll: (taskId, options) =>
        this.inTurn(async () => {
          const fault = this.pollFault(taskId);
          if (fault) emulator.next('status', fault);
          return real.poll(taskId, options);
        }),
      openVideo: (link, options) =>
        this.inTurn(async () => {
          const [taskId = ''] = /task_[0-9a-f-]+/.exec(link) ?? [];
          const answer = this.itemOf(taskId)?.downloads.shift();
          const fault = answer && downloadFault(answer);
          if (fault) emulator.next('download', fault);
          return real.openVideo(link, options);
        }),
      cancel: (...given) => real.cancel(...given),
      close: async () => undefined,
    };
  }

  private pollFault(taskId: string): Faults['status'] | undefined {
    const item = this.itemOf(taskId);
    const { activityType } = Context.current().info;
    if (activityType === 'downloadVideo') {
      const [next] = item?.downloads ?? [];
      if (next?.kind !== 'link') return undefined;
      item?.downloads.shift();
      return LINK_FAULTS[next.fault];
    }
    if (activityType === 'pollVideos') this.polls[taskId] = (this.polls[taskId] ?? 0) + 1;
    const answer = item?.polls.shift();
    return answer && pollFault(answer);
  }

  private itemOf(taskId: string): ItemScript | undefined {
    const task = this.emulator.generations().find((one) => one.taskId === taskId);
    return task && this.items[itemOf(task) - 1];
  }

  /** One call at a time: a fault is for the next call, whoever makes it. */
  private inTurn<T>(call: () => Promise<T>): Promise<T> {
    const turn = this.lastCall.then(call);
    this.lastCall = turn.catch(() => undefined);
    return turn;
  }

  private endTasksAsScripted(): void {
    for (const task of this.emulator.generations()) {
      ENDINGS[this.script.items[itemOf(task) - 1]?.taskEnds ?? 'succeeded'](task, this.script.jobTimeMs);
    }
  }
}

function itemOf({ request }: EmulatedTask): number {
  return Number(request.seed);
}
