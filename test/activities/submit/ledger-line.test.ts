import { LedgerLine, LedgerUnreachable } from '../../../activities/submit/ledger-line';
import { type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../../../src/contract/ledger';

const entry = (id: string, kind: LedgerEntry['kind'] = 'reserve'): LedgerEntry => ({
  kind,
  id,
  holder: 'h',
  accounts: [{ scope: 'day', cap: { videos: 1 } }],
});

/** A ledger that answers when it is told to. */
class SlowLedger {
  readonly updates: LedgerEntry[][] = [];
  private readonly answers: { resolve(answers: LedgerAnswer[]): void; reject(error: unknown): void }[] = [];

  readonly send = (entries: LedgerEntry[]) => {
    this.updates.push(entries);
    return new Promise<LedgerAnswer[]>((resolve, reject) => this.answers.push({ resolve, reject }));
  };

  async answer(failure?: Error): Promise<void> {
    while (this.answers.length === 0) await Promise.resolve();
    const next = this.answers.shift();
    const { length } = this.updates[this.updates.length - this.answers.length - 1] ?? [];
    if (failure) next?.reject(failure);
    else next?.resolve(Array.from({ length }, () => ({ ok: true as const })));
  }

  get ids(): string[][] {
    return this.updates.map((entries) => entries.map(({ kind, id }) => `${kind} ${id}`));
  }
}

test('what comes up during an update goes into the next one together, and no more than fits', async () => {
  const ledger = new SlowLedger();
  const line = new LedgerLine();
  const first = line.write(entry('first'), ledger.send);
  await Promise.resolve();
  const rest = Array.from({ length: MOST_ENTRIES + 1 }, (_, index) =>
    line.write(entry(String(index)), ledger.send),
  );
  await new Promise(setImmediate);
  expect(ledger.updates).toHaveLength(1);
  for (const _update of [1, 2, 3]) await ledger.answer();
  expect(await Promise.all([first, ...rest])).toHaveLength(MOST_ENTRIES + 2);
  expect(ledger.updates.map(({ length }) => length)).toEqual([1, MOST_ENTRIES, 1]);
});

test('an update that fails fails those who wait for it, and its reservations are given back with the next', async () => {
  const ledger = new SlowLedger();
  const line = new LedgerLine();
  const lost = Promise.allSettled([
    line.write(entry('a'), ledger.send),
    line.write(entry('b', 'release'), ledger.send),
  ]);
  await ledger.answer(new LedgerUnreachable('gone'));
  expect(await lost).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  const next = line.write(entry('c'), ledger.send);
  await ledger.answer();
  expect(await next).toEqual({ ok: true });
  expect(ledger.ids).toEqual([
    ['reserve a', 'release b'],
    ['release a', 'release b', 'reserve c'],
  ]);
});
