import { fc } from '../support/properties';

/** A worker that dies. `notes: 'lost'`: its heartbeats die with it. */
export interface Kill<At extends string> {
  kind: 'killed';
  at: At;
  notes: 'kept' | 'lost';
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
  | { kind: 'server-error' }
  | { kind: 'reset' }
  | { kind: 'bad-json' }
  | { kind: 'refused'; status: 401 | 404 }
  | { kind: 'unknown-state'; word: string }
  | { kind: 'no-video' }
  | Kill<'start' | 'end'>;

/** What happens to one connection for a video: to its poll for the link (`link`), or to the file. */
export type DownloadAnswer =
  | { kind: 'ok' }
  | RateLimited
  | { kind: 'server-error' }
  | { kind: 'reset' }
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'refused'; status: 403 }
  | { kind: 'web-page' }
  | { kind: 'link'; fault: 'no-video' | 'not-found' | 'server-error' }
  | Kill<'start' | 'middle' | 'end'>;

/** A task by number, counted from 0; one that nobody made; one that a job of another namespace has. */
export type NamedTask = number | 'unknown' | 'taken';

/** What somebody does to a job, a batch or a fallback. `about: 'another'`: a decision that names another lost submit. */
export type Deed =
  | { kind: 'poll-now' }
  | { kind: 'cancel' }
  /** Terminates it, and starts it again under the same name. */
  | { kind: 'restart' }
  | { kind: 'resubmit'; about?: 'another' }
  | { kind: 'abandon' }
  | { kind: 'adopt'; generation: NamedTask };

export interface TimedDeed {
  atMs: number;
  deed: Deed;
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
export interface Fate {
  servicePolling?: { min?: number; max?: number };
  idempotencyKeys: 'ignored' | 'honoured';
  /** Whether the service can cancel a task. */
  cancelling: boolean;
  jobTimeMs: number;
  /** How long such tasks took before, as the worker has learned; it may be mistaken. */
  learnedMs?: number;
  taskEnds: 'succeeded' | 'failed' | 'refused' | 'cancelled';
  submits: SubmitAnswer[];
  polls: PollAnswer[];
  downloads: DownloadAnswer[];
  deeds: TimedDeed[];
}

export interface JobScript extends SharedOptions, Fate {
  kind: 'job';
  start: 'request' | 'adopt' | 'adopt-unknown' | 'adopt-taken';
}

/** A job with several services: a fate for the job at each of them. */
export interface FallbackScript extends SharedOptions {
  kind: 'fallback';
  fallbackAfterMs: number;
  services: Fate[];
  deeds: TimedDeed[];
}

export interface BatchScript extends SharedOptions {
  kind: 'batch';
  window: number;
  onFailure: 'continue' | 'stop';
  /** Whether the requests are in a file, which is read in pages of two. */
  fromFile: boolean;
  items: Fate[];
  deeds: TimedDeed[];
}

/** All that happens to one job, to one with several services, or to one batch. */
export type Script = JobScript | FallbackScript | BatchScript;

/** The times of a script are small multiples of one unit, so that they cross. A poll loop of days would take minutes. */
const UNITS_MS = [5_000, 20_000, 3 * 60_000, 40 * 60_000];
/** The bounds that jobs have without any setting suit short jobs only. */
const LONGEST_UNIT_WITHOUT_BOUNDS_MS = 20_000;
const MOST_ITEMS = 5;

const rateLimited = fc.oneof(
  fc.constant<RateLimited>({ kind: 'rate-limited' }),
  fc.record({
    kind: fc.constant('rate-limited' as const),
    retryAfter: fc.constantFrom(0, 3, 45, 400, 5_000),
  }),
);

function kill<At extends string>(...at: At[]): fc.Arbitrary<Kill<At>> {
  return fc.record({
    kind: fc.constant('killed' as const),
    at: fc.constantFrom(...at),
    notes: fc.constantFrom('kept' as const, 'lost' as const),
  });
}

const submitAnswer: fc.Arbitrary<SubmitAnswer> = fc.oneof(
  { weight: 3, arbitrary: rateLimited },
  { weight: 3, arbitrary: fc.constant<SubmitAnswer>({ kind: 'server-error' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('refused' as const),
      status: fc.constantFrom(400 as const, 401 as const, 402 as const, 422 as const),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('lost' as const),
      how: fc.constantFrom(
        'reset' as const,
        'cut-headers' as const,
        'cut-body' as const,
        'bad-json' as const,
        'empty' as const,
        'bad-gateway' as const,
      ),
    }),
  },
  { weight: 6, arbitrary: kill('start', 'before-send', 'after-send', 'before-record', 'after-record') },
  { weight: 3, arbitrary: fc.constant<SubmitAnswer>({ kind: 'task' }) },
);

/** Answers after which no task can exist. */
const certainRefusal: fc.Arbitrary<SubmitAnswer> = fc.oneof(
  rateLimited,
  fc.record({
    kind: fc.constant('refused' as const),
    status: fc.constantFrom(400 as const, 401 as const, 402 as const, 422 as const),
  }),
);

const pollAnswer: fc.Arbitrary<PollAnswer> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<PollAnswer>({ kind: 'ok' }) },
  { weight: 2, arbitrary: rateLimited },
  { weight: 2, arbitrary: fc.constant<PollAnswer>({ kind: 'server-error' }) },
  { weight: 1, arbitrary: fc.constant<PollAnswer>({ kind: 'reset' }) },
  { weight: 1, arbitrary: fc.constant<PollAnswer>({ kind: 'bad-json' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('refused' as const),
      status: fc.constantFrom(401 as const, 404 as const, 404 as const, 404 as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('unknown-state' as const),
      word: fc.constantFrom('brewing', 'resting'),
    }),
  },
  { weight: 2, arbitrary: fc.constant<PollAnswer>({ kind: 'no-video' }) },
  { weight: 1, arbitrary: kill('start', 'end') },
);

const downloadAnswer: fc.Arbitrary<DownloadAnswer> = fc.oneof(
  { weight: 2, arbitrary: rateLimited },
  { weight: 2, arbitrary: fc.constant<DownloadAnswer>({ kind: 'server-error' }) },
  { weight: 1, arbitrary: fc.constant<DownloadAnswer>({ kind: 'reset' }) },
  // Small: the cuts of one script stay within the video.
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('cut' as const), afterBytes: fc.integer({ min: 0, max: 600 }) }),
  },
  { weight: 2, arbitrary: fc.constant<DownloadAnswer>({ kind: 'refused', status: 403 }) },
  { weight: 1, arbitrary: fc.constant<DownloadAnswer>({ kind: 'web-page' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('link' as const),
      fault: fc.constantFrom('no-video' as const, 'not-found' as const, 'server-error' as const),
    }),
  },
  { weight: 2, arbitrary: kill('start', 'middle', 'end') },
);

/** Answers one by one, and now and then the same one many times: limits of attempts are only reached so. */
function answers<Answer>(
  one: fc.Arbitrary<Answer>,
  { most, manyTimes }: { most: number; manyTimes: number },
) {
  const few = fc.array(one, { maxLength: most });
  const many = fc
    .tuple(one, fc.integer({ min: 2, max: manyTimes }))
    .map(([answer, times]) => Array.from({ length: times }, () => answer));
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<Answer[]>([]) },
    { weight: 4, arbitrary: few },
    { weight: 2, arbitrary: many },
  );
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Deed>({ kind: 'poll-now' }) },
  { weight: 3, arbitrary: fc.constant<Deed>({ kind: 'resubmit' }) },
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: 'resubmit', about: 'another' }) },
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: 'abandon' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('adopt' as const),
      generation: fc.constantFrom(0, 0, 0, 1, 'unknown' as const, 'taken' as const),
    }),
  },
);

/**
 * What the test server cannot do, the scripts leave to the tests on a real server:
 * - Resets: it does not implement ResetWorkflowExecution.
 * - Timeouts of attempts: it lets no time pass while one runs, so a killed attempt ends with an error that stands for it.
 * - A second cancellation: it refuses the command, and the workflow that asked for it stops.
 * - A cancellation at the start: all jobs of a group start at that time, and it breaks a workflow that cancels an activity
 *   which has just ended.
 * - A termination while an attempt runs: it waits until none does. What is lost is the notes of attempts and all timers.
 */
function scriptsInUnits(unitMs: number): fc.Arbitrary<Script> {
  // Without bias, which would make most times the shortest or the longest.
  const times = (min: number, max: number) =>
    fc.noBias(fc.integer({ min: Math.round(min * unitMs), max: Math.round(max * unitMs) }));
  const mayBeUnset = (ms: fc.Arbitrary<number>) => fc.option(ms, { nil: undefined });
  const min = times(0.4, 2);
  const max = times(1, 8);
  const bounds = fc.record({ min: mayBeUnset(min), max: mayBeUnset(max) }).map(present);
  const boundsOfService = unitMs <= LONGEST_UNIT_WITHOUT_BOUNDS_MS ? bounds : fc.record({ min, max });
  const seldom = (atMs: fc.Arbitrary<number>, kind: 'cancel' | 'restart') =>
    fc.oneof(
      { weight: 5, arbitrary: fc.constant<TimedDeed[]>([]) },
      { weight: 1, arbitrary: atMs.map((ms): TimedDeed[] => [{ atMs: ms, deed: { kind } }]) },
    );
  /** What may happen once to whatever has no parent. */
  const interruptions = fc
    .tuple(seldom(times(1, 16), 'cancel'), seldom(times(0.5, 12), 'restart'))
    .map((deeds) => deeds.flat());
  const shared: fc.Arbitrary<SharedOptions> = fc.record({
    deadlineMs: times(4, 16),
    holdForMs: times(1, 16),
    onLostSubmit: fc.constantFrom(
      undefined,
      'hold' as const,
      'hold' as const,
      'resubmit' as const,
      'fail' as const,
    ),
    // The workflow refuses a job whose shortest delay is longer than its longest.
    polling: bounds.filter(({ min = 0, max = min } = {}) => min <= max),
    continues: fc.constantFrom(true, true, true, false),
  });
  const fate: fc.Arbitrary<Fate> = fc
    .record({
      servicePolling: boundsOfService,
      idempotencyKeys: fc.constantFrom('ignored' as const, 'honoured' as const),
      cancelling: fc.boolean(),
      jobTimeMs: times(0, 12),
      learnedMs: fc.option(times(0, 24)),
      taskEnds: fc.constantFrom<Fate['taskEnds'][]>(
        'succeeded',
        'succeeded',
        'succeeded',
        'succeeded',
        'failed',
        'refused',
        'cancelled',
      ),
      submits: answers(submitAnswer, { most: 4, manyTimes: 8 }),
      polls: answers(pollAnswer, { most: 8, manyTimes: 12 }),
      downloads: answers(downloadAnswer, { most: 4, manyTimes: 20 }),
      deeds: fc.array(fc.record({ atMs: times(0, 20), deed }), { maxLength: 6 }),
    })
    .map(({ learnedMs, ...rest }) => ({ ...rest, ...(learnedMs !== null && { learnedMs }) }));
  const start = fc.oneof(
    { weight: 12, arbitrary: fc.constant('request' as const) },
    { weight: 3, arbitrary: fc.constant('adopt' as const) },
    { weight: 1, arbitrary: fc.constantFrom('adopt-unknown' as const, 'adopt-taken' as const) },
  );
  const job: fc.Arbitrary<Script> = fc
    .tuple(shared, fate, start, interruptions)
    .map(([options, own, how, interrupted]) => ({
      kind: 'job',
      start: how,
      ...options,
      ...own,
      deeds: [...own.deeds, ...interrupted],
    }));
  const pollsNow = fc.array(times(0, 20), { maxLength: 1 });
  const ofParent = fc
    .tuple(interruptions, pollsNow)
    .map(([interrupted, polls]): TimedDeed[] => [
      ...interrupted,
      ...polls.map((atMs) => ({ atMs, deed: { kind: 'poll-now' as const } })),
    ]);
  const refusedFate = fc
    .tuple(
      fate,
      fc.oneof(
        answers(certainRefusal, { most: 3, manyTimes: 8 }),
        fate.map((one) => one.submits),
      ),
    )
    .map(([own, submits]) => ({ ...own, submits }));
  const fallback: fc.Arbitrary<Script> = fc
    .record({
      options: shared,
      fallbackAfterMs: times(0.2, 4),
      services: fc.array(refusedFate, { minLength: 2, maxLength: 3 }),
      deeds: ofParent,
    })
    .map(({ options, ...rest }) => ({ kind: 'fallback', ...options, ...rest }));
  const batch: fc.Arbitrary<Script> = fc
    .record({
      options: shared,
      window: fc.integer({ min: 1, max: MOST_ITEMS }),
      onFailure: fc.constantFrom<BatchScript['onFailure'][]>('continue', 'continue', 'continue', 'stop'),
      fromFile: fc.boolean(),
      items: fc.array(fate, { minLength: 1, maxLength: MOST_ITEMS }),
      deeds: ofParent,
    })
    .map(({ options, ...rest }) => ({ kind: 'batch', ...options, ...rest }));
  return fc.oneof(
    { weight: 12, arbitrary: job },
    { weight: 3, arbitrary: fallback },
    { weight: 2, arbitrary: batch },
  );
}

/** Leaves out what is not set: undefined would not survive JSON. */
function present(bounds: { min?: number; max?: number }): { min?: number; max?: number } | undefined {
  const set = Object.entries(bounds).filter(([, ms]) => ms !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

export const scripts: fc.Arbitrary<Script> = fc.oneof(...UNITS_MS.map(scriptsInUnits));
