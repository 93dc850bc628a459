import { LedgerUnreachable } from '../../../activities/submit/ledger-line';
import { type CapInput, Reservation } from '../../../activities/submit/reservation';
import type { Caps } from '../../../src/contract/caps';
import type { LedgerAnswer, LedgerEntry } from '../../../src/contract/ledger';
import type { VideoRequest } from '../../../src/contract/request';
import type { ServiceProfile, VideoService } from '../../../src/service';
import { failureOf, startAttempt } from '../activity-world';

const PRICED: ServiceProfile = { prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } };
const DAY: Caps = { day: { videos: 9 } };

interface Given {
  caps?: Caps;
  input?: CapInput;
  request?: VideoRequest;
  profile?: ServiceProfile;
  lostSubmits?: number;
  answer?: LedgerAnswer | Error;
  info?: object;
}

/** What a submit writes into the ledger, and into which. */
function entriesOf(
  {
    caps = DAY,
    input = {},
    request = { prompt: 'A red fox' },
    profile,
    lostSubmits = 0,
    answer,
    info,
  }: Given,
  then: (reservation: Reservation) => Promise<void> = async () => undefined,
) {
  const written: LedgerEntry[] = [];
  const queues: string[] = [];
  const reported: unknown[] = [];
  const ledger = {
    write: async (queue: string, entry: LedgerEntry) => {
      queues.push(queue);
      written.push(entry);
      if (answer instanceof Error) throw answer;
      return answer ?? { ok: true as const };
    },
  };
  const service = { ...(profile && { profile }) } as VideoService;
  const attempt = startAttempt(
    async () => {
      const submit = { request, digest: 'd'.repeat(64), sendId: '12345678-send', lostSubmits };
      const reservation = new Reservation({ caps, ledger, service }, input, submit);
      await reservation.take();
      await then(reservation);
    },
    undefined,
    info,
    reported,
  );
  return { ...attempt, written, queues, reported };
}

test('a reservation says what the video takes, under which caps, and in which queue', async () => {
  const known = entriesOf({
    input: { ledgerQueue: 'films', caller: 'web_shop' },
    request: { prompt: 'A red fox', duration: 5 },
    profile: PRICED,
  });
  await known.result;
  expect(known.queues).toEqual(['films']);
  expect(known.written).toEqual([
    {
      kind: 'reserve',
      id: 'd'.repeat(32),
      holder: '12345678',
      accounts: [{ scope: 'day', cap: { videos: 9 } }],
      seconds: 5,
      cost: { amount: 0.5, currency: 'USD' },
    },
  ]);
});

test('a reservation says nothing of what is not known', async () => {
  const { result, written, queues } = entriesOf({ info: { taskQueue: 'own' } });
  await result;
  expect(queues).toEqual(['own']);
  // Nor that it repeats anything: it is a first attempt.
  expect(Object.keys(Object(written[0]))).toEqual(['kind', 'id', 'holder', 'accounts']);
});

test.each<[string, Given, object]>([
  ['a first attempt repeats nothing', {}, { id: 'd'.repeat(32) }],
  ['a later attempt repeats the one before', { info: { attempt: 2 } }, { repeats: 'attempt' }],
  [
    'a decided resubmit repeats the lost submit, in any attempt',
    { input: { resubmits: true }, info: { attempt: 2 } },
    { id: 'd'.repeat(32), repeats: 'lost-submit' },
  ],
  [
    'one that repeats a lost submit by itself is counted beside it',
    { lostSubmits: 1 },
    { id: `${'d'.repeat(32)}.12345678-send` },
  ],
])('%s', async (_what, given, entry) => {
  const { result, written } = entriesOf(given);
  await result;
  expect(written[0]).toMatchObject(entry);
});

test.each<[string, CapInput, string[]]>([
  ['the day alone, for a job of its own', {}, ['day']],
  ['the batch, for one of its items', { job: 'foxes-1' }, ['batch', 'day']],
  ['the key of the caller', { caller: 'web_shop' }, ['key', 'day']],
])('a submit counts for %s', async (_what, input, scopes) => {
  const caps = { ...DAY, batch: { videos: 9 }, key: { videos: 9 } };
  const { result, written } = entriesOf({ caps, input });
  await result;
  expect(written[0]?.accounts.map(({ scope }) => scope)).toEqual(scopes);
});

test('a submit that is settled or released is written once, whatever comes after', async () => {
  const settled = entriesOf({}, async (reservation) => {
    await reservation.settle();
    await reservation.release();
  });
  await settled.result;
  expect(settled.written.map(({ kind }) => kind)).toEqual(['reserve', 'settle']);
  const released = entriesOf({}, async (reservation) => {
    await reservation.release();
    await reservation.settle();
  });
  await released.result;
  expect(released.written.map(({ kind }) => kind)).toEqual(['reserve', 'release']);
});

test('nothing is sent when the ledger is full, and the failure says so', async () => {
  const { failure, details } = await failureOf(entriesOf({ answer: { full: 'too many keys' } }));
  expect(failure).toMatchObject({ type: 'CapReached', nonRetryable: true });
  expect(details.message).toBe('the ledger of the caps is full: too many keys');
});

test('a ledger that cannot be reached is a failure to retry, and a bug stays a bug', async () => {
  const { failure } = await failureOf(entriesOf({ answer: new LedgerUnreachable('no worker') }));
  expect(failure.nonRetryable).toBe(false);
  await expect(entriesOf({ answer: new TypeError('a bug') }).result).rejects.toThrow(TypeError);
});
