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

/** What somebody does to the job. `generation` counts from 0. */
export type Deed =
  | { kind: 'poll-now' }
  | { kind: 'cancel' }
  | { kind: 'resubmit' }
  | { kind: 'abandon' }
  | { kind: 'adopt'; generation: number | 'unknown' };

/** All that happens to one job. Answers are given in order; after the last one, all goes well. */
export interface Script {
  start: 'request' | 'adopt' | 'adopt-unknown';
  deadlineMs: number;
  holdForMs: number;
  onLostSubmit?: 'hold' | 'resubmit' | 'fail';
  polling?: { min?: number; max?: number };
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
  deeds: { atMs: number; deed: Deed }[];
  /** Whether the workflow continues as new after nearly every poll. */
  continues: boolean;
}

/** The times of a script are small multiples of one unit, so that they cross. A poll loop of days would take minutes. */
const UNITS_MS = [5_000, 20_000, 3 * 60_000, 40 * 60_000];
/** The bounds that jobs have without any setting suit short jobs only. */
const LONGEST_UNIT_WITHOUT_BOUNDS_MS = 20_000;

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
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: 'abandon' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('adopt' as const),
      generation: fc.constantFrom(0, 0, 1, 'unknown' as const),
    }),
  },
);

/** A bound of the polling interval: set by the job, by the service's profile, by both, or by neither. */
function bound(ms: fc.Arbitrary<number>, mayBeUnset: boolean) {
  const set = fc.oneof(
    fc.record({ job: ms }),
    fc.record({ service: ms }),
    fc.record({ service: ms }),
    fc.record({ job: ms, service: ms }),
  );
  const unset: fc.Arbitrary<{ job?: number; service?: number }> = fc.constant({});
  const either: fc.Arbitrary<{ job?: number; service?: number }> = mayBeUnset ? fc.oneof(unset, set) : set;
  return either;
}

/**
 * What the test server cannot do, the scripts leave to the tests on a real server:
 * - Resets: it does not implement ResetWorkflowExecution.
 * - Timeouts of attempts: it lets no time pass while one runs, so a killed attempt ends with an error that stands for it.
 * - A second cancellation: it refuses the command, and the workflow that asked for it stops.
 * - A cancellation at the start: all jobs of a group start at that time, and it breaks a workflow that cancels an activity
 *   which has just ended.
 * - Cancelled batches, which run many activities at once, for the same reason. Also, it waits for ever for the retry of an
 *   activity that was cancelled before its next attempt, if the workflow goes on.
 */
function scriptInUnits(unitMs: number): fc.Arbitrary<Script> {
  // Without bias, which would make most times the shortest or the longest.
  const times = (min: number, max: number) =>
    fc.noBias(fc.integer({ min: Math.round(min * unitMs), max: Math.round(max * unitMs) }));
  const mayBeUnset = unitMs <= LONGEST_UNIT_WITHOUT_BOUNDS_MS;
  return fc
    .record({
      start: fc.oneof(
        { weight: 12, arbitrary: fc.constant('request' as const) },
        { weight: 3, arbitrary: fc.constant('adopt' as const) },
        { weight: 1, arbitrary: fc.constant('adopt-unknown' as const) },
      ),
      deadlineMs: times(4, 16),
      holdForMs: times(1, 16),
      onLostSubmit: fc.constantFrom(
        undefined,
        'hold' as const,
        'hold' as const,
        'resubmit' as const,
        'fail' as const,
      ),
      min: bound(times(0.4, 2), mayBeUnset),
      max: bound(times(1, 8), mayBeUnset),
      idempotencyKeys: fc.constantFrom('ignored' as const, 'honoured' as const),
      cancelling: fc.boolean(),
      jobTimeMs: times(0, 12),
      learnedMs: fc.option(times(0, 24)),
      taskEnds: fc.constantFrom<Script['taskEnds'][]>(
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
      cancels: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: times(1, 16) }),
      continues: fc.constantFrom(true, true, true, false),
    })
    .map(({ min, max, cancels, deeds, learnedMs, ...script }) => ({
      ...script,
      ...(learnedMs !== null && { learnedMs }),
      deeds: cancels === null ? deeds : [...deeds, { atMs: cancels, deed: { kind: 'cancel' as const } }],
      polling: present({ min: min.job, max: max.job }),
      servicePolling: present({ min: min.service, max: max.service }),
    }));
}

/** Leaves out what is not set: undefined would not survive JSON. */
function present(bounds: { min?: number; max?: number }): { min?: number; max?: number } | undefined {
  const set = Object.entries(bounds).filter(([, ms]) => ms !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

export const scripts: fc.Arbitrary<Script> = fc.oneof(...UNITS_MS.map(scriptInUnits));

/** What happens to one item of a batch. */
export type ItemScript = Pick<Script, 'taskEnds' | 'submits' | 'polls' | 'downloads'>;

/** All that happens to one batch. Workers die in the scripts of jobs; here they do not. */
export interface BatchScript
  extends Pick<
    Script,
    | 'deadlineMs'
    | 'holdForMs'
    | 'onLostSubmit'
    | 'polling'
    | 'servicePolling'
    | 'idempotencyKeys'
    | 'jobTimeMs'
    | 'continues'
  > {
  window: number;
  onFailure: 'continue' | 'stop';
  /** Whether the requests are in a file, which is read in pages of two. */
  fromFile: boolean;
  items: ItemScript[];
  deeds: { atMs: number; deed: Deed; item: number }[];
}

const MOST_ITEMS = 6;

/** Put together from scripts of jobs: one for the batch, and one for each item. */
export const batchScripts: fc.Arbitrary<BatchScript> = fc
  .record({
    batch: scripts,
    items: fc.array(scripts, { minLength: 1, maxLength: MOST_ITEMS }),
    window: fc.integer({ min: 1, max: MOST_ITEMS }),
    fromFile: fc.boolean(),
    onFailure: fc.constantFrom(
      'continue' as const,
      'continue' as const,
      'continue' as const,
      'stop' as const,
    ),
  })
  .map(({ batch, items, window, fromFile, onFailure }) => {
    // What belongs to an item, or to a job that is alone.
    const { start, cancelling, taskEnds, submits, polls, downloads, deeds, ...shared } = batch;
    return {
      ...shared,
      window,
      fromFile,
      onFailure,
      items: items.map(({ taskEnds, submits, polls, downloads }) => ({
        taskEnds,
        submits: submits.filter(({ kind }) => kind !== 'killed'),
        polls: polls.filter(({ kind }) => kind !== 'killed'),
        downloads: downloads.filter(({ kind }) => kind !== 'killed'),
      })),
      deeds: deeds
        .filter(({ deed }) => deed.kind !== 'cancel')
        .map((deed, index) => ({ ...deed, item: (index % items.length) + 1 })),
    };
  });
