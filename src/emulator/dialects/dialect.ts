import { createHash } from 'node:crypto';
import type { TaskFailure, TaskView } from '../task-book';

export type StateWord = string | number | boolean;

/** What an answer may tell of a task. */
export interface ToldTask {
  id: string | bigint;
  state: TaskView['status'] | 'unknown';
  /** The dialect's own for the state. */
  word: StateWord;
  /** While the task is queued or running. */
  percent?: number;
  /** Of a video that is there, where the dialect has links in its answers. */
  videoUrl?: string;
  /** Of a video that is there, where the dialect keeps files apart. */
  fileId?: bigint;
  error?: TaskFailure;
  submittedAtMs: number;
  /** Where the service is, for links to its own calls. */
  origin: string;
  /** A link to a picture beside the video. It leads nowhere: whoever follows it took the wrong one. */
  stillUrl(name: string): string;
}

export interface Refused {
  status: number;
  code: string;
  message: string;
}

export interface RetrievedFile {
  id: bigint;
  url: string;
  bytes: number;
  createdAtMs: number;
}

/** A body under the usual HTTP status, or under one of the dialect's own. */
export type Reply = object | HttpReply;

export class HttpReply {
  constructor(
    readonly status: number,
    /** None is an answer of no bytes. */
    readonly body?: object,
  ) {}
}

export const http = (status: number, body?: object): HttpReply => new HttpReply(status, body);

/** How one kind of service words its answers. What it is asked, and where, is the interface's in all of them. */
export interface Dialect {
  /** A task that was cancelled has failed where there is no word for it. */
  words: Record<'queued' | 'running' | 'succeeded' | 'failed', StateWord> & { cancelled?: StateWord };
  /** Under which name callers know a task; the emulator's own unless set. An integer is written as a number. */
  idOf?(taskId: string): string | bigint;
  /** Such a name may come with its slashes encoded or as they are. */
  idHasSlashes?: true;
  accepted(task: ToldTask): Reply;
  looked(task: ToldTask): Reply;
  refused(refused: Refused): Reply;
  /** A look at a task that does not exist; refused as not found unless set. */
  notFound?(id: string): Reply;
  /** Where the video is if no link in the answer leads to it: behind a call of its own, or behind a file's id. */
  video?:
    | { at: 'relative-link' }
    | { at: 'content' }
    | { at: 'file'; idOf(taskId: string): bigint; retrieved(file: RetrievedFile): Reply };
}

/** `task_` and a UUID, without what only we write. */
export const uuidOf = (taskId: string): string => taskId.replace(/^task_/, '');
export const hexOf = (taskId: string): string => uuidOf(taskId).replaceAll('-', '');

/** 18 digits that no JavaScript number can hold: beyond 2^53 those are all even. */
export function integerOf(text: string): bigint {
  const random = createHash('sha256').update(text).digest().readBigUInt64LE(0);
  return 100_000_000_000_000_000n + (random % 450_000_000_000_000_000n) * 2n + 1n;
}

/** Services have a word or a number of their own for what their filter caught. */
export function isModerated(error: TaskFailure | undefined): boolean {
  return error !== undefined && /nsfw|moderat|sensitive|safety/i.test(error.code);
}

export const seconds = (ms: number): number => Math.floor(ms / 1_000);
