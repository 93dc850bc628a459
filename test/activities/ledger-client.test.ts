import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { ledgersInTemporal } from '../../activities/ledger-client';
import { type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../../src/contract/caps';
import { LEDGER_WITHIN_MS } from '../../src/contract/policies';
import { temporalWithLedgers } from './temporal-ledgers';

const entry = (id: string): LedgerEntry => ({
  id,
  accounts: [{ scope: 'day', limits: [{ unit: 'videos', limit: 1 }] }],
  takes: { videos: 1 },
});

/** The ledgers of a Temporal that answers updates as each test says. */
function ledgersThat(answer: Parameters<typeof temporalWithLedgers>[0]) {
  const { client, sent } = temporalWithLedgers(answer);
  const { write } = ledgersInTemporal(() => client as object as Client);
  const ids = () =>
    sent.map(({ entries }) => entries.map((one) => `${'cost' in one ? one.cost : 'reserve'} ${one.id}`));
  return { write, sent, ids };
}

const allOk = (entries: LedgerEntry[]): LedgerAnswer[] => entries.map(() => ({ ok: true }));
/** An error that ends an update at once. */
const gone = () => new WorkflowUpdateFailedError('gone', undefined);
const many = (count: number, name = '') => Array.from({ length: count }, (_, id) => entry(`${name}${id}`));

/** Fails the first update, and answers the others. */
function ledgersThatFailFirst() {
  let updates = 0;
  return ledgersThat((entries) => {
    if (++updates === 1) throw gone();
    return allOk(entries);
  });
}

test('what comes up during an update goes into the next one together, and no more than fits', async () => {
  const ledgers = ledgersThat(async (entries) => {
    await new Promise(setImmediate);
    return allOk(entries);
  });
  const first = ledgers.write('foxes', entry('first'));
  await Promise.resolve();
  const rest = many(MOST_ENTRIES + 1).map((one) => ledgers.write('foxes', one));
  await Promise.all([first, ...rest]);
  expect(ledgers.sent.map(({ entries }) => entries.length)).toEqual([1, MOST_ENTRIES, 1]);
});

test('an update that fails fails those who wait for it, and its reservations are given back with the next', async () => {
  const { write, ids } = ledgersThatFailFirst();
  const writes = [
    entry('a'),
    { id: 'b', cost: 'nothing' as const },
    { id: 'paid', cost: 'estimate' as const },
  ];
  const lost = await Promise.allSettled(writes.map((one) => write('foxes', one)));
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await write('foxes', entry('c'))).toEqual({ ok: true });
  // A task that was paid for is never given back.
  expect(ids().at(-1)).toEqual(['nothing a', 'nothing b', 'estimate paid', 'reserve c']);
});

test('those who waited during an update that failed are sent with the next one', async () => {
  const { write, ids } = ledgersThatFailFirst();
  const lost = write('foxes', entry('a'));
  await Promise.resolve();
  const waiting = write('foxes', entry('b'));
  await expect(lost).rejects.toThrow('gone');
  expect(await waiting).toEqual({ ok: true });
  expect(ids()).toEqual([['reserve a'], ['nothing a', 'reserve b']]);
});

test('what is left of a failed update goes with the next one, and nothing of it is sent twice', async () => {
  const { write, sent } = ledgersThatFailFirst();
  await Promise.allSettled(many(MOST_ENTRIES, 'a').map((one) => write('foxes', one)));
  await Promise.all(many(MOST_ENTRIES, 'b').map((one) => write('foxes', one)));
  const later = sent.slice(1).map(({ entries }) => entries);
  const released = later.map((entries) => entries.filter((one) => 'cost' in one).length);
  expect(released).toEqual([MOST_ENTRIES]);
  expect(new Set(later.flat().map(({ id }) => id)).size).toBe(2 * MOST_ENTRIES);
});

test('of a process that cannot reach Temporal for long, the last entries are kept, as many as fit', async () => {
  let isDown = true;
  const released: string[] = [];
  const { write } = ledgersThat((entries) => {
    if (isDown) throw gone();
    released.push(...entries.flatMap((one) => ('cost' in one ? [one.id] : [])));
    return allOk(entries);
  });
  await Promise.allSettled(many(2 * MOST_ENTRIES + 1).map((one) => write('foxes', one)));
  isDown = false;
  await write('foxes', entry('next'));
  expect([released.length, released.at(-1)]).toEqual([MOST_ENTRIES, String(2 * MOST_ENTRIES)]);
});

test('an update that answers too little fails those whose answer is missing', async () => {
  const { write } = ledgersThat(() => [{ ok: true }]);
  const [first, second] = await Promise.allSettled(['a', 'b'].map((id) => write('foxes', entry(id))));
  expect(first).toEqual({ status: 'fulfilled', value: { ok: true } });
  expect(second).toMatchObject({ reason: new Error('the ledger gave no answer') });
});

test('there is one ledger for each queue, and one update has all that a queue writes at a time', async () => {
  const { write, sent } = ledgersThat(allOk);
  await Promise.all([write('foxes', entry('a')), write('wolves', entry('b')), write('foxes', entry('c'))]);
  expect(sent.map(({ workflowId, entries }) => [workflowId, entries.map(({ id }) => id)])).toEqual([
    ['videogen-ledger-foxes', ['a', 'c']],
    ['videogen-ledger-wolves', ['b']],
  ]);
});

test('an update starts a ledger that has counted nothing, and is given up when its time is over', async () => {
  const { write, sent } = ledgersThat(allOk);
  const before = Date.now();
  await write('foxes', entry('a'));
  expect(sent).toMatchObject([{ args: [] }]);
  expect(sent[0]?.deadline).toBeGreaterThanOrEqual(before + LEDGER_WITHIN_MS);
});
