import { type Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { LedgerLine, LedgerUnreachable, ledgersInTemporal } from '../../../activities/submit/ledger-line';
import { type LedgerAnswer, type LedgerEntry, MOST_ENTRIES } from '../../../src/contract/ledger';
import { LEDGER_WITHIN_MS } from '../../../src/contract/policies';

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
    while (this.answers.length === 0) await new Promise(setImmediate);
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

test('those who waited during an update that failed are sent with the next one', async () => {
  const ledger = new SlowLedger();
  const line = new LedgerLine();
  const lost = line.write(entry('a'), ledger.send);
  await new Promise(setImmediate);
  const waiting = line.write(entry('b'), ledger.send);
  await Promise.all([expect(lost).rejects.toThrow('gone'), ledger.answer(new Error('gone'))]);
  await ledger.answer();
  expect(await waiting).toEqual({ ok: true });
  expect(ledger.ids).toEqual([['reserve a'], ['release a', 'reserve b']]);
});

test('what is left of a failed update takes at most half of the next one, and nothing of it is sent twice', async () => {
  const ledger = new SlowLedger();
  const line = new LedgerLine();
  const write = (name: string) =>
    Array.from({ length: MOST_ENTRIES }, (_, index) => line.write(entry(`${name}${index}`), ledger.send));
  const lost = Promise.allSettled(write('a'));
  await ledger.answer(new Error('gone'));
  await lost;
  const next = Promise.all(write('b'));
  for (const _update of [1, 2]) await ledger.answer();
  expect(await next).toHaveLength(MOST_ENTRIES);
  const [, ...later] = ledger.updates;
  const released = later.map((entries) => entries.filter(({ kind }) => kind === 'release').length);
  expect(released).toEqual([MOST_ENTRIES / 2, MOST_ENTRIES / 2]);
  expect(new Set(later.flat().map(({ id }) => id)).size).toBe(2 * MOST_ENTRIES);
});

test('a paid task that could not be settled is settled with the next update, and never given back', async () => {
  const ledger = new SlowLedger();
  const line = new LedgerLine();
  const lost = line.write(entry('paid', 'settle'), ledger.send);
  await Promise.all([expect(lost).rejects.toThrow('gone'), ledger.answer(new Error('gone'))]);
  const next = line.write(entry('b'), ledger.send);
  await ledger.answer();
  await next;
  expect(ledger.ids.at(-1)).toEqual(['settle paid', 'reserve b']);
});

test('of a process that cannot reach Temporal for long, the last thousand entries are kept', async () => {
  const line = new LedgerLine();
  const down = () => Promise.reject(new Error('gone'));
  const write = (send: () => Promise<never>) =>
    Promise.allSettled(Array.from({ length: 1_201 }, (_, id) => line.write(entry(String(id)), send)));
  await write(down);
  const released: string[] = [];
  const up = async (entries: LedgerEntry[]) => {
    released.push(...entries.flatMap(({ kind, id }) => (kind === 'release' ? [id] : [])));
    return entries.map(() => ({ ok: true as const }));
  };
  for (let update = 0; update < 20; update++) await line.write(entry('next'), up);
  expect([released.length, released.at(-1)]).toEqual([1_000, '1200']);
});

test('an update that answers too little fails those whose answer is missing, and nobody is sent for nothing', async () => {
  const line = new LedgerLine();
  const send = async () => [{ ok: true as const }];
  const [first, second] = await Promise.allSettled([
    line.write(entry('a'), send),
    line.write(entry('b'), send),
  ]);
  expect(first).toEqual({ status: 'fulfilled', value: { ok: true } });
  expect(second).toMatchObject({ reason: new LedgerUnreachable('the ledger gave no answer') });
});

describe('the ledger of a task queue', () => {
  interface Sent {
    workflowId: string;
    args: unknown[];
    entries: LedgerEntry[];
    deadline: number;
  }

  /** What no server does when it is asked to: it fails as each test says, and then answers. */
  function clientThat(...failures: unknown[]): { client: Client; sent: Sent[] } {
    const sent: Sent[] = [];
    let deadline = 0;
    const client = {
      options: { namespace: 'films' },
      withDeadline: async (untilMs: number, call: () => Promise<unknown>) => {
        deadline = untilMs;
        return call();
      },
      workflow: {
        executeUpdateWithStart: async (
          _update: string,
          {
            args,
            startWorkflowOperation: { options },
          }: {
            args: [LedgerEntry[]];
            startWorkflowOperation: { options: { workflowId: string; args: unknown[] } };
          },
        ) => {
          sent.push({ workflowId: options.workflowId, args: options.args, entries: args[0], deadline });
          if (failures.length > 0) throw failures.shift();
          return args[0].map(() => ({ ok: true }));
        },
      },
    };
    return { client: client as object as Client, sent };
  }

  afterEach(() => jest.restoreAllMocks());

  test('is asked again after a fault, with the same entries and until the same time', async () => {
    const { client, sent } = clientThat(new Error('busy'));
    expect(await ledgersInTemporal(() => client).write('foxes', entry('a'))).toEqual({ ok: true });
    expect(sent.map(({ entries }) => entries)).toEqual([[entry('a')], [entry('a')]]);
    expect(sent[0]?.deadline).toBe(sent[1]?.deadline);
    // A ledger that is started by the update has counted nothing yet.
    expect(sent[0]?.args).toEqual([]);
  });

  test('is one for each queue, and one update has all that a queue writes at a time', async () => {
    const { client, sent } = clientThat();
    const { write } = ledgersInTemporal(() => client);
    await Promise.all([write('foxes', entry('a')), write('wolves', entry('b')), write('foxes', entry('c'))]);
    expect(sent.map(({ workflowId, entries }) => [workflowId, entries.map(({ id }) => id)])).toEqual([
      ['videogen-ledger-foxes', ['a', 'c']],
      ['videogen-ledger-wolves', ['b']],
    ]);
  });

  test('that refuses an update is not asked again', async () => {
    const { client, sent } = clientThat(new WorkflowUpdateFailedError('the update failed', undefined));
    await expect(ledgersInTemporal(() => client).write('foxes', entry('a'))).rejects.toEqual(
      new LedgerUnreachable('the update failed'),
    );
    expect(sent).toHaveLength(1);
  });

  test.each([
    [
      'the server says',
      Object.assign(new Error('the call failed'), { cause: { details: 'no worker' } }),
      'no worker',
    ],
    [
      'the call says, if the server says nothing',
      Object.assign(new Error('no route'), { cause: { details: '' } }),
      'no route',
    ],
    ['is thrown, whatever that is', 'cut', 'cut'],
  ])('is given up when its time is over, for the reason that %s', async (_what, failure, reason) => {
    const { client, sent } = clientThat(failure);
    const startedAtMs = 1_000_000;
    const clock = jest.spyOn(Date, 'now').mockReturnValueOnce(startedAtMs);
    clock.mockReturnValue(startedAtMs + LEDGER_WITHIN_MS);
    const written = ledgersInTemporal(() => client).write('foxes', entry('a'));
    await expect(written).rejects.toMatchObject({
      name: 'LedgerUnreachable',
      message: reason,
      cause: failure,
    });
    expect(sent).toMatchObject([{ deadline: startedAtMs + LEDGER_WITHIN_MS }]);
  });
});
