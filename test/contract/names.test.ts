import { JOB_PHASES } from '../../src/contract/job';
import { describeConflict, describeDifference, identityOf } from '../../src/contract/job-identity';
import {
  firstSearchAttributes,
  SEARCH_ATTRIBUTES,
  searchAttributesOf,
  webhookId,
} from '../../src/contract/names';
import { jsonBytes } from '../../src/contract/sizes';
import { type WebhookDelivery, webhookPayload } from '../../src/contract/webhook';

const request = { prompt: 'A red fox', duration: 5 };

describe('what makes two jobs the same', () => {
  it.each<[string, existing: object, given: object, difference: string | undefined]>([
    ['fields in another order', { request: { duration: 5, prompt: 'A red fox' } }, { request }, undefined],
    ['a field that is not set', { request }, { request: { ...request, seed: undefined } }, undefined],
    ['the same task', { taskId: 'task_1' }, { taskId: 'task_1' }, undefined],
    ['another value', { request }, { request: { ...request, duration: 10 } }, 'duration'],
    ['a missing value', { request }, { request: { prompt: 'A red fox' } }, 'duration'],
    ['an additional value', { request }, { request: { ...request, seed: 0 } }, 'seed'],
    ['text that looks like a number', { request: { prompt: '5' } }, { request: { prompt: '6' } }, 'prompt'],
    ['another task', { taskId: 'task_1' }, { taskId: 'task_2' }, 'taskId'],
    ['a task in place of a request', { request }, { taskId: 'task_1' }, 'prompt, duration, taskId'],
    ['a memo without a request', { request: null }, { request }, 'prompt, duration'],
  ])('%s: compared in full and by identity', (_what, existing, given, difference) => {
    expect(describeDifference(existing, given)).toBe(difference);
    expect(describeDifference(identityOf(existing), identityOf(given))).toBe(difference);
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

  it.each<[string, object, object]>([
    ['a request', { request, deadline: '1h' }, { request }],
    ['a task', { taskId: 'task_1', deadline: '2h' }, { taskId: 'task_1' }],
    ['nulls, which some SDKs send', { request: null, taskId: null }, {}],
  ])('is, of a job with %s, the request or the task, and no options', (_what, input, identity) => {
    expect(identityOf(input)).toEqual(identity);
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

describe('a webhook', () => {
  const delivery: Omit<WebhookDelivery, 'id' | 'url'> = {
    event: 'video.completed',
    job: 'foxes',
    taskId: 'task-1',
    cost: { charged: { amount: 1, currency: 'USD' } },
    refusedBy: [{ service: 'fal', failure: 'Unauthorized', message: 'HTTP 401.' }],
    timestamp: '2026-11-17T12:00:00.000Z',
  };

  it('has one id for each event of a job, and no other event has it', () => {
    const id = webhookId('run-1', 'video.completed', 1);
    const others = [
      webhookId('run-2', 'video.completed', 1),
      webhookId('run-1', 'video.needs_decision', 1),
      webhookId('run-1', 'video.needs_decision', 2),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });

  it('says what happened to which video, and when', () => {
    const { event, job, timestamp, ...facts } = delivery;
    expect(webhookPayload(delivery)).toEqual({ type: event, timestamp, data: { id: job, ...facts } });
  });

  it('has the id that the gateway answered, and no other part of the name of the job', () => {
    const id = `video_${'0a'.repeat(16)}`;
    const idOf = (job: string) => webhookPayload({ ...delivery, job }).data.id;
    expect(idOf(`gateway-web_shop2-${id}`)).toBe(id);
    for (const other of [`my-gateway-shop-${id}`, `gateway-shop-${id}0`, 'gateway-shop-video_1', id])
      expect(idOf(other)).toBe(other);
  });
});
