import { fc } from '../support/properties';

/** A worker that dies. `heartbeats: 'lost'`: those of its attempt die with it. */
export interface Kill<At extends string> {
  kind: 'killed';
  at: At;
  heartbeats: 'kept' | 'lost';
}

type RateLimited = { kind: 'rate-limited'; retryAfter?: number };

/** What happens to one attempt to submit. After `lost`, a task may exist; after `bad-gateway` it never does. */
export type SubmitAnswer =
  | { kind: 'task' }
  | RateLimited
  | { kind: 'server-error' }
  | { kind: 'refused'; status: 400 | 401 | 402 | 422 }
  | { kind: 'lost'; how: 'reset' | 'cut-headers' | 'cut-body' | 'bad-json' | 'empty' | 'bad-gateway' }
  | Kill<'start' | 'before-send' | 'after-send' | 'before-record' | 'after-record'>;

/** What happens to one poll of a task. */
export type PollAnswer =
  | { kind: 'ok' }
  | RateLimited
  | { kind: 'server-error' | 'reset' | 'bad-json' | 'no-video' }
  | { kind: 'refused'; status: 401 | 404 }
  | { kind: 'unknown-state'; word: string }
  | Kill<'start' | 'end'>;

/** What happens to one connection for a video: to its poll for the link (`link`), or to the file. */
export type DownloadAnswer =
  | { kind: 'ok' }
  | RateLimited
  | { kind: 'server-error' | 'reset' | 'web-page' }
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'refused'; status: 403 }
  | { kind: 'link'; fault: 'no-video' | 'not-found' | 'server-error' }
  | Kill<'start' | 'middle' | 'end'>;

/** A task by number, counted from 0; one that nobody made; one that a job of another namespace has. */
export type NamedTask = number | 'unknown' | 'taken';

/** What somebody does to a job, a batch or a fallback. `about: 'another'`: a decision that names another lost submit. */
export type Action =
  | { kind: 'poll-now' }
  | { kind: 'cancel' }
  /** Terminates it, and starts it again under the same name. */
  | { kind: 'restart' }
  | { kind: 'resubmit'; about?: 'another' }
  | { kind: 'abandon' }
  | { kind: 'adopt'; task: NamedTask };

export interface TimedAction {
  atMs: number;
  action: Action;
}

/** What is set for a whole script, and whether its workflows continue as new as often as they can. */
export interface SharedOptions {
  deadlineMs: number;
  holdForMs: number;
  onLostSubmit?: 'hold' | 'resubmit' | 'fail';
  polling?: { min?: number; max?: number };
  continues: boolean;
}

/** What happens to one job at its service. Answers are given in order; after the last one, all goes well. */
export interface ServiceScript {
  idempotencyKeys: 'ignored' | 'honoured';
  /** Whether the service can cancel a task. */
  cancelling: boolean;
  jobTimeMs: number;
  taskEnds: 'succeeded' | 'failed' | 'refused' | 'cancelled';
  submits: SubmitAnswer[];
  polls: PollAnswer[];
  downloads: DownloadAnswer[];
  actions: TimedAction[];
}

export interface JobScript extends SharedOptions, ServiceScript {
  kind: 'job';
  start: 'request' | 'adopt' | 'adopt-unknown' | 'adopt-taken';
}

/** A job with several services. */
export interface FallbackScript extends SharedOptions {
  kind: 'fallback';
  fallbackAfterMs: number;
  services: ServiceScript[];
  actions: TimedAction[];
}

export interface BatchScript extends SharedOptions {
  kind: 'batch';
  window: number;
  onFailure: 'continue' | 'stop';
  /** Whether the requests are in a file, which is read in pages of two. */
  fromFile: boolean;
  items: ServiceScript[];
  actions: TimedAction[];
}

/** All that happens to one job, to one with several services, or to one batch. */
export type Script = JobScript | FallbackScript | BatchScript;

/** The times of a script are small multiples of one unit, so that they cross. A poll loop of days would take minutes. */
const UNITS_MS = [5_000, 20_000, 3 * 60_000, 40 * 60_000];
/** The bounds that jobs have without any setting suit short jobs only. */
const LONGEST_UNIT_WITHOUT_BOUNDS_MS = 20_000;
const MOST_ITEMS = 5;

/** One of several, each as often as its weight says. */
function weighted<T>(...choices: [weight: number, one: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const { constant, constantFrom, record } = fc;

const kill = <At extends string>(...at: At[]): fc.Arbitrary<Kill<At>> =>
  record({
    kind: constant('killed'),
    at: constantFrom(...at),
    heartbeats: constantFrom('kept', 'lost'),
  });

const rateLimited = fc.oneof(
  constant({ kind: 'rate-limited' }),
  record({ kind: constant('rate-limited'), retryAfter: constantFrom(0, 3, 45, 400, 5_000) }),
);
const serverError = constant({ kind: 'server-error' });
const reset = constant({ kind: 'reset' });
const refusedSubmit = record({ kind: constant('refused'), status: constantFrom(400, 401, 402, 422) });
const lostSubmit = record({
  kind: constant('lost'),
  how: constantFrom('reset', 'cut-headers', 'cut-body', 'bad-json', 'empty', 'bad-gateway'),
});

const submitAnswer = weighted<SubmitAnswer>(
  [3, rateLimited],
  [3, serverError],
  [2, refusedSubmit],
  [8, lostSubmit],
  [6, kill('start', 'before-send', 'after-send', 'before-record', 'after-record')],
  [3, constant({ kind: 'task' })],
);

/** Answers after which no task can exist. */
const certainRefusal = weighted<SubmitAnswer>([1, rateLimited], [1, refusedSubmit]);

const pollAnswer = weighted<PollAnswer>(
  [6, constant({ kind: 'ok' })],
  [2, rateLimited],
  [2, serverError],
  [1, reset],
  [1, constant({ kind: 'bad-json' })],
  [2, record({ kind: constant('refused'), status: constantFrom(401, 404, 404, 404) })],
  [1, record({ kind: constant('unknown-state'), word: constantFrom('brewing', 'resting') })],
  [2, constant({ kind: 'no-video' })],
  [1, kill('start', 'end')],
);

const downloadAnswer = weighted<DownloadAnswer>(
  [2, rateLimited],
  [2, serverError],
  [1, reset],
  // Small: the cuts of one script stay within the video.
  [2, record({ kind: constant('cut'), afterBytes: fc.integer({ min: 0, max: 600 }) })],
  [2, constant({ kind: 'refused', status: 403 })],
  [1, constant({ kind: 'web-page' })],
  [1, record({ kind: constant('link'), fault: constantFrom('no-video', 'not-found', 'server-error') })],
  [2, kill('start', 'middle', 'end')],
);

/** Answers one by one, and now and then the same one many times: limits of attempts are only reached so. */
function answers<Answer>(
  one: fc.Arbitrary<Answer>,
  { most, manyTimes }: Record<'most' | 'manyTimes', number>,
) {
  const many = fc
    .tuple(one, fc.integer({ min: 2, max: manyTimes }))
    .map(([answer, times]) => Array.from({ length: times }, () => answer));
  return weighted<Answer[]>([3, constant([])], [4, fc.array(one, { maxLength: most })], [2, many]);
}

const action = weighted<Action>(
  [4, constant({ kind: 'poll-now' })],
  [3, constant({ kind: 'resubmit' })],
  [1, constant({ kind: 'resubmit', about: 'another' })],
  [1, constant({ kind: 'abandon' })],
  [4, record({ kind: constant('adopt'), task: constantFrom<NamedTask>(0, 0, 0, 1, 'unknown', 'taken') })],
);

/**
 * What the test server cannot do, the scripts leave to the tests on a real server:
 * - Resets: it does not implement ResetWorkflowExecution.
 * - Timeouts of attempts: it lets no time pass while one runs, so a killed attempt ends with an error that stands for it.
 * - A second cancellation: it refuses the command, and the workflow that asked for it stops.
 * - A cancellation at the start: all jobs of a group start at that time, and it breaks a workflow that cancels an activity
 *   which has just ended.
 * - A termination while an attempt runs: it waits until none does. What is lost is the heartbeats of attempts and all timers.
 */
function scriptsInUnits(unitMs: number): fc.Arbitrary<Script> {
  // Without bias, which would make most times the shortest or the longest.
  const times = (min: number, max: number) =>
    fc.noBias(fc.integer({ min: Math.round(min * unitMs), max: Math.round(max * unitMs) }));
  const bounds = { min: times(0.4, 2), max: times(1, 8) };
  const polling =
    unitMs <= LONGEST_UNIT_WITHOUT_BOUNDS_MS ? record(bounds, { requiredKeys: [] }) : record(bounds);
  /** What may happen once to whatever has no parent. */
  const once = (atMs: fc.Arbitrary<number>, kind: 'cancel' | 'restart') =>
    weighted<TimedAction[]>([5, constant([])], [1, atMs.map((ms) => [{ atMs: ms, action: { kind } }])]);
  const interruptions = fc
    .tuple(once(times(1, 16), 'cancel'), once(times(0.5, 12), 'restart'))
    .map((actions) => actions.flat());
  const shared: fc.Arbitrary<SharedOptions> = record({
    deadlineMs: times(4, 16),
    holdForMs: times(1, 16),
    onLostSubmit: constantFrom(undefined, 'hold', 'hold', 'resubmit', 'fail'),
    // The workflow refuses a job whose shortest delay is longer than its longest.
    polling: polling.filter(({ min = 0, max = min }: { min?: number; max?: number }) => min <= max),
    continues: constantFrom(true, true, true, false),
  });
  const atService: fc.Arbitrary<ServiceScript> = record({
    idempotencyKeys: constantFrom('ignored', 'honoured'),
    cancelling: fc.boolean(),
    jobTimeMs: times(0, 12),
    taskEnds: weighted<ServiceScript['taskEnds']>(
      [4, constant('succeeded')],
      [3, constantFrom('failed', 'refused', 'cancelled')],
    ),
    submits: answers(submitAnswer, { most: 4, manyTimes: 8 }),
    polls: answers(pollAnswer, { most: 8, manyTimes: 12 }),
    downloads: answers(downloadAnswer, { most: 4, manyTimes: 20 }),
    actions: fc.array(record({ atMs: times(0, 20), action }), { maxLength: 6 }),
  });
  const start = weighted<JobScript['start']>(
    [12, constant('request')],
    [3, constant('adopt')],
    [1, constantFrom('adopt-unknown', 'adopt-taken')],
  );
  const job = fc
    .tuple(shared, atService, start, interruptions)
    .map(([options, own, how, interrupted]): Script => {
      return { kind: 'job', start: how, ...options, ...own, actions: [...own.actions, ...interrupted] };
    });
  const pollsNow = fc.array(record({ atMs: times(0, 20), action: constant({ kind: 'poll-now' }) }), {
    maxLength: 1,
  });
  const toParent = fc.tuple(interruptions, pollsNow).map((actions): TimedAction[] => actions.flat());
  const oftenRefused = fc
    .tuple(atService, answers(certainRefusal, { most: 3, manyTimes: 8 }), fc.boolean())
    .map(([own, submits, isRefused]) => (isRefused ? { ...own, submits } : own));
  const fallback = fc
    .record({
      options: shared,
      fallbackAfterMs: times(0.2, 4),
      services: fc.array(oftenRefused, { minLength: 2, maxLength: 3 }),
      actions: toParent,
    })
    .map(({ options, ...rest }): Script => ({ kind: 'fallback', ...options, ...rest }));
  const batch = fc
    .record({
      options: shared,
      window: fc.integer({ min: 1, max: MOST_ITEMS }),
      onFailure: constantFrom('continue', 'continue', 'continue', 'stop'),
      fromFile: fc.boolean(),
      items: fc.array(atService, { minLength: 1, maxLength: MOST_ITEMS }),
      actions: toParent,
    })
    .map(({ options, ...rest }): Script => ({ kind: 'batch', ...options, ...rest }));
  return weighted<Script>([12, job], [3, fallback], [2, batch]);
}

export const scripts: fc.Arbitrary<Script> = fc.oneof(...UNITS_MS.map(scriptsInUnits));
