import { type ItemResult, itemName, leftOf, parseResults, resultsKey } from '../../src/contract/batch';
import { FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import { isFileKey } from '../../src/contract/input-rules';
import { waysOut } from '../../src/contract/ways-out';
import { stored } from '../support/item-results';

const failed = (item: number, failure: FailureType, taskId?: string): ItemResult => ({
  item,
  name: `foxes-${item}`,
  outcome: 'failed',
  failure,
  message: FAILURES[failure].meaning,
  details: taskId === undefined ? {} : { taskId },
});

/** What is to become of an item that failed so: without a task of its own, and with one. */
const AGAIN: Record<FailureType, [withoutTask: 'left' | 'again', withTask: 'left' | 'adopted']> = {
  InvalidRequest: ['left', 'left'],
  SubmitUnconfirmed: ['left', 'left'],
  GenerationFailed: ['left', 'left'],
  GenerationCancelled: ['left', 'left'],
  TaskUnknown: ['left', 'left'],
  VideoTooLarge: ['left', 'left'],
  Unauthorized: ['again', 'adopted'],
  RateLimited: ['again', 'adopted'],
  ServiceFailed: ['again', 'adopted'],
  ServiceUnreachable: ['again', 'adopted'],
  AnswerUnreadable: ['again', 'adopted'],
  NoVideo: ['again', 'adopted'],
  VideoUnavailable: ['again', 'adopted'],
  VideoCorrupt: ['again', 'adopted'],
  StorageFailed: ['again', 'adopted'],
  DeadlineExceeded: ['again', 'adopted'],
  Unexpected: ['again', 'adopted'],
  Cancelled: ['again', 'adopted'],
};

describe('when a batch goes on with an earlier one', () => {
  it.each(Object.keys(FAILURES).filter(isFailureType))(
    'an item that failed with %s is left, adopted or begun again as the table says',
    (type) => {
      const [withoutTask, withTask] = AGAIN[type];
      const isLeft = { done: [7], adopt: [], succeeded: 0, failed: 1 };
      const isAdopted = { done: [], adopt: [{ item: 7, taskId: 'task-7' }], succeeded: 0, failed: 0 };
      const isBegun = { done: [], adopt: [], succeeded: 0, failed: 0 };
      expect(leftOf([failed(7, type)])).toEqual(withoutTask === 'left' ? isLeft : isBegun);
      expect(leftOf([failed(7, type, 'task-7')])).toEqual(withTask === 'left' ? isLeft : isAdopted);
    },
  );

  it('what is stored is done, and each item is in one place alone', () => {
    const results = [
      stored(1),
      failed(2, 'Cancelled', 'task-2'),
      failed(3, 'GenerationFailed', 'task-3'),
      failed(4, 'Cancelled'),
      stored(6),
    ];
    const { done, ...rest } = leftOf(results);
    expect([...done].sort()).toEqual([1, 3, 6]);
    expect(rest).toEqual({ adopt: [{ item: 2, taskId: 'task-2' }], succeeded: 2, failed: 1 });
  });

  it('nothing is left of one that has no results', () => {
    expect(leftOf([])).toEqual({ done: [], adopt: [], succeeded: 0, failed: 0 });
  });
});

describe('the results of a batch', () => {
  const results = [stored(1), failed(2, 'NoVideo', 'task-2')];
  const [first, second] = results.map((result) => JSON.stringify(result));

  it.each([
    ['as they are written', `${first}\n${second}\n`],
    ['without the last line end', `${first}\n${second}`],
    ['with blank lines and the line ends of Windows', `\n${first}\r\n \r\n${second}\r\n`],
  ])('are read %s', (_what, content) => {
    expect(parseResults(content)).toEqual(results);
  });

  it.each(['', '\n', ' \r\n'])('are none in %j', (content) => {
    expect(parseResults(content)).toEqual([]);
  });

  it.each([
    ['foxes', 'batches/foxes/results.jsonl'],
    ['foxes.v1', 'batches/foxes.v1/results.jsonl'],
    ['a/../b', 'batches/a%2F..%2Fb/results.jsonl'],
    ['.', 'batches/%2E/results.jsonl'],
    ['..', 'batches/%2E./results.jsonl'],
    ['a\\b {date}', 'batches/a%5Cb%20%7Bdate%7D/results.jsonl'],
    ['é🦊', 'batches/%C3%A9%F0%9F%A6%8A/results.jsonl'],
  ])('of %j have a place of their own', (batch, key) => {
    expect(resultsKey(batch)).toBe(key);
    expect(isFileKey(key)).toBe(true);
  });

  it('have a place that file systems take, and no other batch has, however long the name is', () => {
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

it('an item is named after its batch and its number', () => {
  expect(itemName('foxes', 12)).toBe('foxes-12');
});

it.each([
  [undefined, 'videogen decide foxes'],
  [12, 'videogen decide foxes --item 12'],
])('the ways out of a lost submit name the item, if there is one (%p)', (item, decide) => {
  expect(waysOut('foxes', item).map(({ command }) => command)).toEqual([
    `${decide} --adopt TASK_ID`,
    `${decide} --resubmit`,
    `${decide} --abandon`,
  ]);
});
