import { doneBefore, type ItemResult, parseResults, resultsKey } from '../../src/contract/batch';
import { FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import { isFileKey } from '../../src/contract/input-rules';
import { jsonBytes, MOST_ITEMS } from '../../src/contract/sizes';
import { stored } from '../support/item-results';

const failed = (item: number, failure: FailureType, taskId?: string): ItemResult => ({
  item,
  name: `foxes-${item}`,
  outcome: 'failed',
  failure,
  message: FAILURES[failure].meaning,
  details: taskId === undefined ? {} : { taskId },
});

const isDone = (done: string, item: number) => done[item - 1] === '1';

/** Whether an item with such a failure is started again, with or without a task. */
const AGAIN: Record<FailureType, 'left' | 'again'> = {
  InvalidRequest: 'left',
  SubmitUnconfirmed: 'left',
  GenerationFailed: 'left',
  ContentRefused: 'left',
  GenerationCancelled: 'left',
  TaskUnknown: 'again',
  VideoTooLarge: 'left',
  Unauthorized: 'again',
  RateLimited: 'again',
  ServiceFailed: 'again',
  ServiceUnreachable: 'again',
  AnswerUnreadable: 'again',
  NoVideo: 'again',
  VideoUnavailable: 'again',
  VideoCorrupt: 'again',
  StorageFailed: 'again',
  DeadlineExceeded: 'again',
  Unexpected: 'again',
  CapReached: 'again',
  Cancelled: 'again',
};

describe('when a batch continues an earlier one', () => {
  it.each(Object.keys(FAILURES).filter(isFailureType))(
    'an item that failed with %s is left or started again as the table says',
    (type) => {
      for (const result of [failed(7, type), failed(7, type, 'task-7')]) {
        const { done, spent: _, ...rest } = doneBefore([result]);
        expect(isDone(done, 7)).toBe(AGAIN[type] === 'left');
        expect(rest).toEqual({ succeeded: 0, failed: AGAIN[type] === 'left' ? 1 : 0 });
      }
    },
  );

  it('what the done items cost is known, and items that were never submitted cost nothing', () => {
    const cost = { charged: { amount: 1, currency: 'USD' } };
    const results = [
      { ...stored(1), cost },
      failed(2, 'InvalidRequest'),
      { ...failed(3, 'GenerationFailed'), cost },
      { ...failed(4, 'ContentRefused', 'task-4'), cost },
      { ...failed(5, 'Cancelled', 'task-5'), cost },
      failed(6, 'GenerationFailed', 'task-6'),
      { ...failed(7, 'ContentRefused'), cost },
    ];
    expect(doneBefore(results)).toMatchObject({
      succeeded: 1,
      failed: 5,
      spent: { sums: [{ amount: 3, currency: 'USD' }], unknown: 1 },
    });
  });

  it('the marks are one digit for each item up to the last one that is done, in one Temporal payload', () => {
    const marks = (...items: number[]) => doneBefore(items.map((item) => stored(item))).done;
    expect(marks(5, 2, 1)).toBe('11001');
    expect(marks()).toBe('');
    // Numbers that no batch has are ignored.
    expect(marks(-1, 0, 1.5, 2, 1e9)).toBe('01');
    expect(jsonBytes(marks(MOST_ITEMS))).toBeLessThan(150_000);
  });
});

describe('the results of a batch', () => {
  const results = [stored(1), failed(2, 'NoVideo', 'task-2')];
  const [first, second] = results.map((result) => JSON.stringify(result));

  it('are read from lines, of which some may be blank', () => {
    expect(parseResults(`${first}\n${second}`)).toEqual(results);
    expect(parseResults(`\n${first}\r\n \r\n${second}\r\n`)).toEqual(results);
    expect(parseResults(' \r\n')).toEqual([]);
  });

  it.each([
    ['foxes', 'batches/foxes/results.jsonl'],
    ['a/../b', 'batches/a%2F..%2Fb/results.jsonl'],
    ['..', 'batches/%2E./results.jsonl'],
    ['a\\b {date}', 'batches/a%5Cb%20%7Bdate%7D/results.jsonl'],
  ])('of %j have their own key', (batch, key) => {
    expect(resultsKey(batch)).toBe(key);
    expect(isFileKey(key)).toBe(true);
  });

  it('have a key that file systems allow and no other batch has, however long the name is', () => {
    const names = ['a', 'b', '.', '..', 'x'].map((end) => `${'x'.repeat(200)}${end}`);
    names.push('x'.repeat(200), '狐'.repeat(333));
    const keys = names.map(resultsKey);
    expect(new Set(keys).size).toBe(names.length);
    for (const part of keys.flatMap((key) => key.split('/'))) {
      expect(part.length).toBeLessThan(255);
      expect(part).not.toMatch(/^\.*$/);
    }
  });
});
