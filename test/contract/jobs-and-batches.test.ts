import { doneBefore, type ItemResult, parseResults, resultsKey } from '../../src/contract/batch';
import { FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import { isFileKey } from '../../src/contract/input-rules';
import { JOB_PHASES } from '../../src/contract/job';
import { describeConflict, describeDifference, identityOf } from '../../src/contract/job-identity';
import {
  firstSearchAttributes,
  SEARCH_ATTRIBUTES,
  searchAttributesOf,
  webhookId,
} from '../../src/contract/names';
import { jsonBytes, MOST_ITEMS } from '../../src/contract/sizes';
import { webhookPayload } from '../../src/contract/webhook';
import { stored } from '../support/item-results';

const request = { prompt: 'A red fox', duration: 5 };

describe('what makes two jobs the same', () => {
  it.each<[string, existing: object, given: object, difference: string | undefined]>([
    ['fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }, undefined],
    ['a field that is not set', { request }, { request: { ...request, seed: undefined } }, undefined],
    ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }, undefined],
    ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration'],
    ['a missing value', { request }, { request: { prompt: 'A red fox' } }, 'duration'],
    ['an additional value', { request }, { request: { ...request, seed: 0 } }, 'seed'],
    ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId'],
    ['a task in place of a request', { request }, { taskId: 'task_1' }, 'prompt, duration, taskId'],
    ['a memo without a request', { request: null }, { request }, 'prompt, duration'],
    ['a request that is text', { request: 'A red fox' }, { request }, 'prompt, duration'],
  ])('%s: compared in full and by identity', (_what, existing, given, difference) => {
    expect(describeDifference(existing, given)).toBe(difference);
    expect(describeDifference(identityOf(existing), identityOf(given))).toBe(difference);
  });

  it('is the request or the task, and no options', () => {
    expect(identityOf({ request, deadline: '1h' } as object)).toEqual({ request });
    expect(identityOf({ taskId: 'task_1', deadline: '2h' } as object)).toEqual({ taskId: 'task_1' });
    // Some SDKs send nulls.
    expect(identityOf({ request: null, taskId: null })).toEqual({});
    expect(describeDifference(null, { request })).toBe('prompt, duration');
  });

  it('is compared by digests for values of more than 200 characters as JSON, on either side', () => {
    const identity = identityOf({ request: { fits: 'x'.repeat(198), long: 'x'.repeat(199) } });
    expect(identity.request).toEqual({
      fits: 'x'.repeat(198),
      long: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    const long = { ...request, image_url: `data:image/png;base64,${'A'.repeat(1_000_000)}` };
    const short = identityOf({ request: long });
    expect(jsonBytes(short)).toBeLessThan(500);
    expect(identityOf(short)).toEqual(short);
    for (const existing of [short, { request: long }]) {
      for (const same of [short, { request: { ...long } }])
        expect(describeDifference(existing, same)).toBeUndefined();
      const other = { ...long, image_url: `${long.image_url}A` };
      expect(describeDifference(existing, { request: other })).toBe('image_url');
    }
  });

  it('is not told to a caller who guesses a name', () => {
    const secret = { prompt: 'a face of our film', image_url: 'https://cdn.test/a.png?signature=s3cret' };
    expect(describeConflict('fox', { request: secret }, { request: { prompt: 'A red fox' } })).toEqual({
      message: 'fox is the name of another job (it differs in prompt, image_url)',
      advice: 'Choose another name.',
    });
  });

  it('is clean and short in a message, whatever a memo has', () => {
    const existing = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, index) => [`${index}\u001b[2J\n\u202E${'x'.repeat(1_000)}`, 'y']),
    );
    const difference = describeDifference(existing, { request }) ?? '';
    expect(difference).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(difference.length).toBeLessThan(500);
  });
});

describe('the search attributes of a job', () => {
  const valuesOf = (job: Parameters<typeof searchAttributesOf>[0]) =>
    searchAttributesOf(job).map(({ value }) => value);

  it('have a value in every phase, because Temporal drops attributes without one', () => {
    for (const phase of JOB_PHASES)
      expect(valuesOf({ phase })).toEqual(['none', phase, phase === 'succeeded' ? phase : 'none']);
    const failed = searchAttributesOf({ phase: 'failed', taskId: '\u0000', failure: 'NoVideo' });
    expect(failed.map(({ key }) => key.name)).toEqual([...SEARCH_ATTRIBUTES]);
    expect(failed.map(({ value }) => value)).toEqual(['none', 'failed', 'NoVideo']);
    const first = firstSearchAttributes({ taskId: 'task_1' }).map(({ value }) => value);
    expect(first).toEqual(['task_1', 'waiting', 'none']);
  });

  it('cut a task id that is longer than the server can store', () => {
    expect(valuesOf({ phase: 'waiting', taskId: 'x'.repeat(255) })[0]).toBe('x'.repeat(255));
    expect(valuesOf({ phase: 'waiting', taskId: 'x'.repeat(256) })[0]).toBe(`${'x'.repeat(254)}…`);
  });
});

test('a webhook has one id for each event of a job, and no other event has it', () => {
  const id = webhookId('run-1', 'video.completed', 1);
  const others = [
    webhookId('run-2', 'video.completed', 1),
    webhookId('run-1', 'video.needs_decision', 1),
    webhookId('run-1', 'video.needs_decision', 2),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
});

test('a webhook says what happened, and names a job of the gateway by the id that its caller knows', () => {
  const id = `video_${'0a'.repeat(16)}`;
  const facts = {
    taskId: 'task-1',
    cost: { charged: { amount: 1, currency: 'USD' } },
    refusedBy: [{ service: 'fal', failure: 'Unauthorized', message: 'HTTP 401.' } as const],
  };
  const payloadOf = (job: string) =>
    webhookPayload({ event: 'video.completed', job, timestamp: '2026-11-17T12:00:00.000Z', ...facts });
  expect(payloadOf(`gateway-web_shop2-${id}`)).toEqual({
    type: 'video.completed',
    timestamp: '2026-11-17T12:00:00.000Z',
    data: { id, ...facts },
  });
  for (const other of [`my-gateway-shop-${id}`, `gateway-shop-${id}0`, 'gateway-shop-video_1', id])
    expect(payloadOf(other).data.id).toBe(other);
});

const failed = (item: number, failure: FailureType, taskId?: string): ItemResult => ({
  item,
  name: `foxes-${item}`,
  outcome: 'failed',
  failure,
  message: FAILURES[failure].meaning,
  details: taskId === undefined ? {} : { taskId },
});

describe('when a batch continues an earlier one', () => {
  const LEFT = [
    ...['InvalidRequest', 'SubmitUnconfirmed', 'GenerationFailed', 'ContentRefused'],
    ...['GenerationCancelled', 'VideoTooLarge'],
  ];

  it('an item that failed for good is left, with or without a task, and any other is started again', () => {
    for (const type of Object.keys(FAILURES).filter(isFailureType)) {
      for (const result of [failed(7, type), failed(7, type, 'task-7')]) {
        const { done, spent: _, ...rest } = doneBefore([result]);
        const isLeft = LEFT.includes(type);
        expect([type, done[6] === '1', rest]).toEqual([
          type,
          isLeft,
          { succeeded: 0, failed: isLeft ? 1 : 0 },
        ]);
      }
    }
  });

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
      // The submit after the lost one was refused.
      { ...failed(8, 'InvalidRequest'), cost: { estimated: { amount: 2, currency: 'USD' }, lostSubmits: 1 } },
    ];
    expect(doneBefore(results)).toMatchObject({
      succeeded: 1,
      failed: 6,
      spent: { sums: [{ amount: 5, currency: 'USD' }], unknown: 1 },
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
  it('are read from lines, of which some may be blank', () => {
    const results = [stored(1), failed(2, 'NoVideo', 'task-2')];
    const [first, second] = results.map((result) => JSON.stringify(result));
    expect(parseResults(`\n${first}\r\n \r\n${second}`)).toEqual(results);
    expect(parseResults(' \r\n')).toEqual([]);
  });

  it('have a key that file systems allow and no other batch has, whatever the name is', () => {
    expect(resultsKey('foxes')).toBe('batches/foxes/results.jsonl');
    expect(resultsKey('a/../b')).toBe('batches/a%2F..%2Fb/results.jsonl');
    expect(resultsKey('..')).toBe('batches/%2E./results.jsonl');
    const names = ['a\\b {date}', ...['a', 'b', '.', '..', 'x'].map((end) => `${'x'.repeat(200)}${end}`)];
    names.push('x'.repeat(200), '狐'.repeat(333));
    const keys = names.map(resultsKey);
    expect(new Set(keys).size).toBe(names.length);
    for (const key of keys) {
      expect(isFileKey(key)).toBe(true);
      for (const part of key.split('/')) {
        expect(part.length).toBeLessThan(255);
        expect(part).not.toMatch(/^\.*$/);
      }
    }
  });
});
