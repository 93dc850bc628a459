import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPeriod, recordedJobs, SpendBook, type SpentJob, spendSentence } from '../../src/cli/spend';
import { money } from '../../src/contract/money';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { fc } from '../support/properties';

const MONDAY = new Date('2026-11-16T23:59:59.999Z');
const TUESDAY = new Date('2026-11-17T00:00:00.000Z');
const job = (more: Partial<SpentJob>): SpentJob => ({ name: 'fox', at: MONDAY, ...more });
const usd = (amount: number) => money(amount, 'USD');

function bookOf(...jobs: SpentJob[]): SpendBook {
  const book = new SpendBook();
  for (const each of jobs) book.add(each);
  return book;
}

test('a job that Temporal and the storage know is counted once, with what either knows', () => {
  const book = bookOf(
    job({ taskId: 't1', caller: 'web_shop', cost: { charged: usd(0.45) } }),
    job({ taskId: 't1', at: TUESDAY, service: 'Ark', cost: { estimated: usd(0.5) } }),
  );
  expect(book.total()).toEqual({ videos: 1, charged: [usd(0.45)], estimated: [], unknown: 0 });
  expect(book.by('service')).toMatchObject([{ name: 'Ark', videos: 1 }]);
  expect(book.by('caller')).toMatchObject([{ name: 'web_shop' }]);
  expect(book.by('day')).toMatchObject([{ name: '2026-11-16' }]);
});

test('a task that another job adopted was paid for once', () => {
  const book = bookOf(
    job({ taskId: 't1', cost: { estimated: usd(1) } }),
    job({ name: 'adopted', taskId: 't1' }),
  );
  expect(book.total()).toMatchObject({ videos: 1, estimated: [usd(1)], unknown: 0 });
});

test('lost submits are told apart by the names of their jobs', () => {
  const book = bookOf(job({}), job({ at: TUESDAY }), job({ name: 'hare' }));
  expect(book.total()).toEqual({ videos: 2, charged: [], estimated: [], unknown: 2 });
});

test('a lost submit that was repeated counts beside its repetition, and once if a later run repeated it', () => {
  const repeated = job({
    taskId: 't1',
    at: TUESDAY,
    cost: { estimated: usd(0.5), charged: usd(0.4), lostSubmits: 1 },
  });
  const both = { videos: 2, charged: [usd(0.4)], estimated: [usd(0.5)], unknown: 0 };
  expect(bookOf(repeated).total()).toEqual(both);
  expect(bookOf(job({ cost: { estimated: usd(0.5) } }), repeated).total()).toEqual(both);
});

test('after a refused repetition only the lost submit counts', () => {
  const cost = { estimated: usd(0.5), lostSubmits: 1 };
  const book = bookOf(job({ cost: { estimated: usd(0.5) } }), job({ cost }));
  expect(book.total()).toEqual({ videos: 1, charged: [], estimated: [usd(0.5)], unknown: 0 });
});

test('what the service did not charge is zero, and no estimate', () => {
  const book = bookOf(job({ taskId: 't1', cost: { estimated: usd(0.5), charged: usd(0) } }));
  expect(book.total()).toEqual({ videos: 1, charged: [usd(0)], estimated: [], unknown: 0 });
});

test('sums never mix currencies, and the unknown ones are counted apart', () => {
  const book = bookOf(
    job({ taskId: 't1', cost: { charged: usd(0.1) } }),
    job({ taskId: 't2', cost: { charged: usd(0.2), estimated: usd(9) } }),
    job({ taskId: 't3', cost: { estimated: money(12, 'credits') }, at: TUESDAY }),
    job({ taskId: 't4', cost: { unknown: 'no duration' } }),
    job({ taskId: 't5' }),
  );
  expect(book.total()).toEqual({
    videos: 5,
    charged: [usd(0.3)],
    estimated: [money(12, 'credits')],
    unknown: 2,
  });
  expect(spendSentence(book.total())).toBe(
    '5 videos: 0.30 USD charged and 12 credits estimated. 2 videos of unknown cost are not in these sums.',
  );
  expect(book.by('day').map(({ name, videos }) => [name, videos])).toEqual([
    ['2026-11-16', 4],
    ['2026-11-17', 1],
  ]);
});

test('every job is in exactly one group of each table and in one of the three sums', () => {
  const anyJob = fc.record({
    name: fc.constantFrom('fox', 'hare'),
    at: fc.constantFrom(MONDAY, TUESDAY),
    taskId: fc.option(fc.nat(20).map(String), { nil: undefined }),
    caller: fc.constantFrom(undefined, 'a', 'b'),
    cost: fc.constantFrom(undefined, { unknown: 'why' }, { estimated: usd(1) }, { charged: usd(1) }),
  });
  fc.assert(
    fc.property(fc.array(anyJob), (jobs) => {
      const book = bookOf(...jobs);
      const { videos, unknown, charged, estimated } = book.total();
      const known = [...charged, ...estimated].reduce((sum, { amount }) => sum + amount, 0);
      expect(known + unknown).toBe(videos);
      for (const division of ['service', 'caller', 'day'] as const)
        expect(book.by(division).reduce((sum, group) => sum + group.videos, 0)).toBe(videos);
      expect(bookOf(...[...jobs].reverse()).total().videos).toBe(videos);
    }),
  );
});

test('nothing is spent without jobs, and too many are refused with the fix', () => {
  expect(spendSentence(bookOf().total())).toBe('0 videos: no known cost.');
  const small = new SpendBook(1);
  small.add(job({ taskId: 't1' }));
  small.add(job({ taskId: 't1' }));
  expect(() => small.add(job({ taskId: 't2' }))).toThrow(
    'There are more than 1 jobs: ask for a shorter time with --since and --until.',
  );
});

test.each([
  [{ since: '7d' }, '2026-11-10T00:00:00.000Z', '2026-11-17T00:00:00.000Z'],
  [{ since: '2026-11-01', until: '1d' }, '2026-11-01T00:00:00.000Z', '2026-11-16T00:00:00.000Z'],
])('%j is a time', (options, since, until) => {
  const read = readPeriod(options, Date.parse('2026-11-17T00:00:00Z'));
  expect([read.since.toISOString(), read.until.toISOString()]).toEqual([since, until]);
});

test.each([{ since: 'yesterday' }, { since: '1d', until: 'x1' }, { since: '1d', until: '2d' }])(
  '%j is refused with the option',
  (options) => {
    expect(() => readPeriod(options, Date.now())).toThrow(/^--(since|until) is ".*"/);
  },
);

describe('the records of a storage', () => {
  const AT = '2026-11-16T12:00:00.000Z';
  const period = { since: new Date('2026-11-16T00:00:00Z'), until: new Date('2026-11-17T00:00:00Z') };
  const COST = { estimated: { amount: 0.5, currency: 'USD' } };

  let folder: string;
  let storage: VideoStorage;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-records-'));
    storage = createFileStorage(folder);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  let records = 0;
  /** Writes the entries of a new record; returns the key of the first. */
  async function write(...entries: (object | string)[]): Promise<string> {
    const folderOfRecord = `jobs/fox.${String(++records).padStart(16, '0')}`;
    for (const [index, content] of entries.entries()) {
      const key = `${folderOfRecord}/000${index + 1}.json`;
      const { at = AT }: { at?: string } = typeof content === 'string' ? {} : content;
      const follows = index === 0 ? {} : { follows: String(index) };
      const text =
        typeof content === 'string'
          ? content
          : JSON.stringify({
              id: String(index + 1),
              at,
              namespace: 'films',
              job: 'fox',
              ...follows,
              ...content,
            });
      await storage.write(key, text, 'application/json');
      utimesSync(join(folder, key), new Date(at), new Date(at));
    }
    return `${folderOfRecord}/0001.json`;
  }

  const sending = (more: object = {}) => ({ event: 'sending', request: {}, ...more });
  const refused = (send: string, more: object = {}) => ({
    event: 'refused',
    send,
    outcome: 'refused',
    ...more,
  });
  const task = (taskId: string, more: object = {}) => ({ event: 'task', send: '1', taskId, ...more });

  async function read(): Promise<{ jobs: SpentJob[]; damaged: string[] }> {
    const [jobs, damaged]: [SpentJob[], string[]] = [[], []];
    const records = recordedJobs({ storage, namespace: 'films', period, damaged });
    for await (const job of records) jobs.push(job);
    return { jobs, damaged };
  }

  test('a record says when, to whom and how much', async () => {
    await write(sending({ service: 'ark', cost: COST }), task('t1', { service: 'ark', cost: COST }));
    expect(await read()).toEqual({
      jobs: [{ name: 'fox', at: new Date(AT), taskId: 't1', service: 'ark', cost: COST }],
      damaged: [],
    });
  });

  test('what the service charged counts instead of the estimate, also if that is nothing', async () => {
    const nothing = { charged: { amount: 0, currency: 'USD' } };
    const video = { uri: 'file:///fox.mp4', bytes: 1, sha256: 'x', contentType: 'video/mp4' };
    const stored = { event: 'stored', taskId: 't1', key: 'fox.mp4', video, warnings: [], cost: nothing };
    await write(sending({ cost: COST }), task('t1', { cost: COST }), stored);
    expect((await read()).jobs).toMatchObject([{ cost: { ...COST, ...nothing } }]);
  });

  test('what was never paid for, is of another namespace or of another day is not counted', async () => {
    await write(sending(), refused('1'));
    await write({ ...sending(), namespace: 'other' }, { ...task('t1'), namespace: 'other' });
    await write(sending({ at: '2026-11-15T12:00:00Z' }), task('t2'));
    await write(sending({ at: '2026-11-17T00:00:00Z' }), task('t3', { at: '2026-11-17T00:00:00Z' }));
    const damaged = await write('damaged long ago');
    const longAgo = new Date('2026-11-15T12:00:00Z');
    // Not even read: it was written last before the day.
    utimesSync(join(folder, damaged), longAgo, longAgo);
    await storage.write('jobs/learned-times.json', '{}', 'application/json');
    expect(await read()).toEqual({ jobs: [], damaged: [] });
  });

  test('each send that was not refused may have been paid for: lost ones too, and those that were repeated', async () => {
    await write(sending({ cost: COST }));
    await write(sending({ cost: COST }), sending({ repeats: ['1'], cost: COST }), task('t1', { send: '2' }));
    await write(sending({ cost: COST }), sending({ repeats: ['1'] }), refused('2'));
    const { jobs } = await read();
    expect(jobs.map(({ taskId, cost }) => [taskId, cost?.lostSubmits])).toEqual([
      [undefined, 1],
      ['t1', 1],
      [undefined, 1],
    ]);
  });

  test('damaged records are named and skipped', async () => {
    const keys = [
      await write('{"event":'),
      await write({ event: 'paid' }),
      await write('x'.repeat(2_000_000)),
      await write(sending(), 'gone'),
    ];
    await write(sending(), task('t1', { cost: { charged: { amount: -5, currency: 'USD' } } }));
    const { jobs, damaged } = await read();
    expect(damaged.sort()).toEqual(keys);
    expect(jobs).toMatchObject([{ taskId: 't1', cost: undefined }]);
  });
});
