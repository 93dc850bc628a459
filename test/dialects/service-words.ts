import { createHash } from 'node:crypto';
import { type ContentStage, fieldOfStage } from '../../src/contract/failure-details';
import type { RefusalFacts, TaskFacts } from '../../src/testing/dialect';
import type { TaskFailure } from '../../src/testing/task-store';

export type StateWord = string | number | boolean;

/** The emulator's facts, with what the answers of services have beyond them. */
export interface ShownTask extends Omit<TaskFacts, 'word'> {
  /** The service's word for the state. */
  word: StateWord;
  /** A decoy link next to the video's. A client that follows it read the wrong field. */
  stillUrl(name: string): string;
}

/** A body with the usual HTTP status, or with the service's own status. */
export type Words = object | WordsWithStatus;

export class WordsWithStatus {
  constructor(
    readonly status: number,
    /** Without one, the answer is empty. */
    readonly body?: object,
  ) {}
}

export const withStatus = (status: number, body?: object): WordsWithStatus =>
  new WordsWithStatus(status, body);

type StateWords = Record<'queued' | 'running' | 'succeeded' | 'failed', StateWord> & {
  /** Without it, a cancelled task is reported as failed. */
  cancelled?: StateWord;
};

export const words = (
  queued: StateWord,
  running: StateWord,
  succeeded: StateWord,
  failed: StateWord,
  cancelled?: StateWord,
): StateWords => ({ queued, running, succeeded, failed, ...(cancelled !== undefined && { cancelled }) });

/** The answers of one kind of service. A bigint is written as a JSON number. */
export interface ServiceWords {
  words: StateWords;
  idOf?(taskId: string): string;
  /** Paths may have the slashes of an id encoded or not. */
  idHasSlashes?: true;
  accepted(task: ShownTask): Words;
  status(task: ShownTask): Words;
  refused(refusal: RefusalFacts): Words;
  /** How clients reach the video; by default by an absolute link in the answer. */
  video?: 'content' | { fileOf(id: string): bigint; retrieved(task: ShownTask): Words };
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
export function locationOf({ refuses }: { refuses?: ContentStage | undefined }): string[] {
  const field = fieldOfStage(refuses);
  return field === undefined ? ['body'] : ['body', field];
}

export const toSeconds = (ms: number): number => Math.floor(ms / 1_000);
