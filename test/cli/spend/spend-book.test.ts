import { SpendBook, type SpentJob } from '../../../src/cli/spend/spend-book';
import { spendSentence } from '../../../src/cli/spend/spend-tables';
import { money } from '../../../src/contract/money';
import { fc } from '../../support/properties';

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
    '5 videos: 0.30 USD charged and 12 credits estimated. 2 videos of unknown cost are in no sum.',
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
