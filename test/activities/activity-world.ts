import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createVideoActivities, type VideoActivities } from '../../activities';
import type { FailureDetails } from '../../src/contract/failure-details';
import { type FailureType, fromTemporalType } from '../../src/contract/failure-table';
import { createVideoService, type OpenedVideoService, type VideoServiceOptions } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { filesIn } from '../support/stored-files';

const HOUR_MS = 3_600_000;

type ActivityInfo = NonNullable<ConstructorParameters<typeof MockActivityEnvironment>[0]>;

/** A run of the job of this name. */
export const asJob = (workflowId: string = randomUUID()) => ({
  workflowExecution: { workflowId, runId: randomUUID() },
});

/** One attempt of an activity: its result, and its heartbeats so far. */
export interface Attempt<T> {
  result: Promise<T>;
  beats: unknown[];
  cancel: MockActivityEnvironment['cancel'];
}

export interface ActivityWorld {
  emulator: Emulator;
  folder: string;
  service: OpenedVideoService;
  activities: VideoActivities;
  serviceAt(baseUrl: string, options?: Partial<VideoServiceOptions>): OpenedVideoService;
  /** Activities with a service at another address. */
  activitiesAt(baseUrl: string, options?: Partial<VideoServiceOptions>): VideoActivities;
  run<I, T>(activity: (input: I) => Promise<T>, input: I, info?: ActivityInfo, client?: object): Attempt<T>;
  /** The names of all files in the storage folder, complete or partial. */
  files(): Promise<string[]>;
  /** Every result, failure, heartbeat and log line of all attempts. */
  reported: unknown[];
  /** The same as one text. */
  everythingReported(): string;
  close(): Promise<void>;
}

export async function createActivityWorld(options: EmulatorOptions = {}): Promise<ActivityWorld> {
  const emulator = await startEmulator({
    apiKey: 'sk-secret-0123456789',
    jobTimeMs: 0,
    videoBytes: 64 * 1024,
    ...options,
  });
  const folder = await mkdtemp(join(tmpdir(), 'videogen-activities-'));
  const storage = createFileStorage(folder);
  const services: OpenedVideoService[] = [];
  const reported: unknown[] = [];
  const serviceAt = (baseUrl: string, more: Partial<VideoServiceOptions> = {}) => {
    const service = createVideoService({ baseUrl, apiKey: () => emulator.apiKey, ...more });
    services.push(service);
    return service;
  };
  const service = serviceAt(emulator.url);

  return {
    emulator,
    folder,
    service,
    serviceAt,
    // A new rate limiter each time: a 429 in one test must not affect the next.
    get activities() {
      return createVideoActivities({ service, storage });
    },
    activitiesAt: (baseUrl, more) => createVideoActivities({ service: serviceAt(baseUrl, more), storage }),
    run: (activity, input, info, client) => startAttempt(activity, input, info, reported, client),
    files: () => filesIn(folder),
    reported,
    everythingReported: () => reported.map((one) => everythingIn(one)).join('\n'),
    async close() {
      await Promise.all(services.map((one) => one.close()));
      await emulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * One attempt of an activity. Its result, heartbeats and log lines are added to `reported`. There is no Temporal to ask, unless
 * `client` says what it answers.
 */
export function startAttempt<I, T>(
  activity: (input: I) => Promise<T>,
  input: I,
  info: ActivityInfo = {},
  reported: unknown[] = [],
  client?: object,
): Attempt<T> {
  const environment = new MockActivityEnvironment(
    // The SDK's default is one second, too short for a submit.
    { scheduleToCloseTimeoutMs: HOUR_MS, ...info },
    { logger: loggerInto(reported), ...(client && { client: answering(client) }) },
  );
  const beats: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => {
    beats.push(details);
    reported.push(details);
  });
  const result = environment.run<[I], T, typeof activity>(activity, input);
  result.then(
    (value) => reported.push(value),
    (error) => reported.push(error),
  );
  return {
    result,
    beats,
    cancel: (...why) => environment.cancel(...why),
  };
}

/** The notes of an attempt, each once: a slow one repeats its note in a heartbeat every two seconds. */
export function notesOf({ beats }: Pick<Attempt<unknown>, 'beats'>): unknown[] {
  return beats.filter((beat, index) => index === 0 || !isDeepStrictEqual(beat, beats[index - 1]));
}

/** A client with these answers. The SDK runs an activity inside of `withAbortSignal`. */
function answering(answers: object): Client {
  const client = {
    withAbortSignal: (_signal: AbortSignal, run: () => unknown) => run(),
    withDeadline: beforeDeadline,
    ...answers,
  };
  return client as object as Client;
}

/** As a client does: a call whose deadline is over is not made. */
async function beforeDeadline<T>(untilMs: number, call: () => Promise<T>): Promise<T> {
  if (untilMs <= Date.now()) throw new Error('the deadline is over');
  return call();
}

/** More attempts than any failure is limited to. */
const MANY_ATTEMPTS = 10;

/** How an activity ended, and the types of the failures before that and of its own. */
export interface Ended<T> {
  end: T | ApplicationFailure;
  failures: (FailureType | undefined)[];
}

/** Attempts an activity as Temporal does, without the pauses: each attempt gets the last heartbeat of the one before. */
export async function attemptUntilEnd<T>(start: (info: ActivityInfo) => Attempt<T>): Promise<Ended<T>> {
  const failures: (FailureType | undefined)[] = [];
  let heartbeatDetails: unknown;
  for (let attempt = 1; ; attempt++) {
    const { result, beats } = start({ attempt, heartbeatDetails });
    try {
      return { end: await result, failures };
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
      failures.push(fromTemporalType(error.type));
      if (error.nonRetryable || attempt === MANY_ATTEMPTS) return { end: error, failures };
      heartbeatDetails = beats.at(-1) ?? heartbeatDetails;
    }
  }
}

/** The failure of an attempt, with its type in the failure table, and its details. */
export async function failureOf(attempt: Attempt<unknown>) {
  const outcome: unknown = await attempt.result.catch((error: unknown) => error);
  const type = outcome instanceof ApplicationFailure ? fromTemporalType(outcome.type) : undefined;
  if (!(outcome instanceof ApplicationFailure) || type === undefined) {
    throw new Error(`expected a failure of the table, got ${String(outcome)}`, { cause: outcome });
  }
  const { message, nonRetryable, nextRetryDelay, cause } = outcome;
  const failure = { type, message, nonRetryable, nextRetryDelay, cause };
  return { failure, details: (outcome.details?.[0] ?? {}) as FailureDetails };
}

/** The same, for an attempt that must fail so. */
export async function expectFailure(
  attempt: Attempt<unknown>,
  type: FailureType,
  end: 'for good' | 'retryable',
) {
  const failed = await failureOf(attempt);
  const { failure } = failed;
  expect([failure.type, failure.nonRetryable ? 'for good' : 'retryable']).toEqual([type, end]);
  return failed;
}

/** Adds every log line to `reported`. */
export function loggerInto(reported: unknown[]) {
  const line = (message: string, meta?: unknown) => {
    reported.push(message, meta);
  };
  const log = (_level: string, message: string, meta?: unknown) => line(message, meta);
  return { log, trace: line, debug: line, info: line, warn: line, error: line };
}

/** Everything that a failure converter could serialize, and more: hidden properties and causes too. */
function everythingIn(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (seen.has(value)) return '';
  seen.add(value);
  return Reflect.ownKeys(value)
    .map((key) => `${String(key)}: ${everythingIn(Reflect.get(value, key), seen)}`)
    .join('\n');
}
