import { createHash } from 'node:crypto';
import { type ContentStage, fieldOfStage } from '../../../contract/failure-details';
import type { TaskFailure, TaskView } from '../task-store';

export type StateWord = string | number | boolean;

/** What an answer can contain about a task. */
export interface TaskFacts {
  id: string | bigint;
  state: TaskView['status'] | 'unknown';
  /** The dialect's word for the state. */
  word: StateWord;
  /** Set while the task is queued or running. */
  percent?: number;
  /** Set if the video is ready and the dialect has links in its answers. */
  videoUrl?: string;
  /** Set if the video is ready and the dialect has files. */
  fileId?: bigint;
  error?: TaskFailure;
  submittedAtMs: number;
  /** The URL of the service, for links to its calls. */
  origin: string;
  /** A decoy link beside the video's. It answers 404: a client that follows it read the wrong field. */
  stillUrl(name: string): string;
}

export interface RefusalFacts {
  status: number;
  code: string;
  message: string;
  /** What the content policy refused, if that is the reason. */
  refuses?: ContentStage;
}

export interface RetrievedFile {
  id: bigint;
  url: string;
  bytes: number;
  createdAtMs: number;
}

/** A body with the usual HTTP status, or with the dialect's own status. */
export type Reply = object | ReplyWithStatus;

export class ReplyWithStatus {
  constructor(
    readonly status: number,
    /** Without one, the answer is empty. */
    readonly body?: object,
  ) {}
}

export const withStatus = (status: number, body?: object): ReplyWithStatus =>
  new ReplyWithStatus(status, body);

/**
 * The answers of one kind of service. Requests and paths are those of the interface in every dialect, and those of the real
 * service too where own-interfaces.ts has them.
 */
export interface Dialect {
  /** Without a word for cancelled, a cancelled task is reported as failed. */
  words: Record<'queued' | 'running' | 'succeeded' | 'failed', StateWord> & { cancelled?: StateWord };
  /** The id in answers and paths; the emulator's own unless set. A bigint is written as a JSON number. */
  idOf?(taskId: string): string | bigint;
  /** Paths may have the slashes of an id encoded or not. */
  idHasSlashes?: true;
  accepted(task: TaskFacts): Reply;
  /** The answer to a poll. */
  status(task: TaskFacts): Reply;
  refused(refusal: RefusalFacts): Reply;
  /** The answer to a poll for an unknown task; refused with 404 unless set. */
  notFound?(id: string): Reply;
  /** How clients reach the video; by an absolute link in the answer unless set. */
  video?:
    | { at: 'relative-link' }
    | { at: 'content' }
    | { at: 'file'; idOf(taskId: string): bigint; retrieved(file: RetrievedFile): Reply };
}

/** The UUID in an id of the emulator, which is `task_` and a UUID. */
export const uuidOf = (taskId: string): string => taskId.replace(/^task_/, '');
export const hexOf = (taskId: string): string => uuidOf(taskId).replaceAll('-', '');

/** An odd number of 18 digits. JavaScript numbers cannot hold it: beyond 2^53 they are all even. */
export function integerOf(text: string): bigint {
  const random = createHash('sha256').update(text).digest().readBigUInt64LE(0);
  return 100_000_000_000_000_000n + (random % 450_000_000_000_000_000n) * 2n + 1n;
}

/** Some services have a special state for videos that their content filter stopped. */
export function isModerated(error: TaskFailure | undefined): boolean {
  return error !== undefined && /nsfw|moderat|sensitive|safety/i.test(error.code);
}

/** A failure without what only the emulator knows. */
export const shownError = (error: TaskFailure | undefined): Omit<TaskFailure, 'refuses'> | undefined =>
  error && { code: error.code, message: error.message };

/** Where fal says that a field is wrong. */
export function locationOf({ refuses }: { refuses?: ContentStage }): string[] {
  const field = fieldOfStage(refuses);
  return field === undefined ? ['body'] : ['body', field];
}

export const toSeconds = (ms: number): number => Math.floor(ms / 1_000);
