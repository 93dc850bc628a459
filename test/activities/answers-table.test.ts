import type { FailureType } from '../../src/contract/failure-table';
import type { VideoRequest } from '../../src/contract/request';
import type { Faults } from '../../src/testing';
import { replyJson, startRawServer } from '../service/raw-server';
import { type ActivityWorld, type Attempt, asJob, createActivityWorld, failureOf } from './activity-world';

const REQUEST = { prompt: 'A red fox' };

let world: ActivityWorld;
let taskId: string;
beforeAll(async () => {
  world = await createActivityWorld();
  ({ taskId } = await world.run(world.activities.submitVideo, { request: REQUEST }).result);
});
afterEach(() => {
  expect(world.emulator.scriptIsSpent()).toBe(true);
});
afterAll(() => world.close());

/** The three calls, and the poll with which a download begins. */
type CallName = 'submit' | 'poll' | 'download, asking for its link' | 'download';

const fault = (status: number) => ({ kind: 'refused', status, code: 'c', message: 'no foxes' }) as const;
const script: Record<CallName, (status: number) => void> = {
  submit: (status) => world.emulator.next('submit', fault(status)),
  poll: (status) => world.emulator.next('status', fault(status)),
  'download, asking for its link': (status) => world.emulator.next('status', fault(status)),
  download: (status) =>
    world.emulator.next('download', ...Array.from({ length: connections(status) }, () => fault(status))),
};

/** A refused link is asked for again twice, before Temporal's retry policy takes over. */
const connections = (status: number) => ([401, 403, 404, 410].includes(status) ? 3 : 1);

function start(call: CallName, activities = world.activities, info = {}): Attempt<unknown> {
  if (call === 'submit')
    return world.run(activities.submitVideo, { request: REQUEST }, { ...asJob(), ...info });
  if (call === 'poll') return world.run(activities.pollVideo, { taskId }, info);
  return world.run(activities.downloadVideo, { taskId }, info);
}

type Row = [status: number, type: FailureType, retryable: boolean];

const ANSWERS: Record<CallName, Row[]> = {
  submit: [
    [300, 'AnswerUnreadable', false],
    [302, 'SubmitUnconfirmed', false],
    [303, 'SubmitUnconfirmed', false],
    [307, 'AnswerUnreadable', false],
    [308, 'AnswerUnreadable', false],
    [400, 'InvalidRequest', false],
    [401, 'Unauthorized', false],
    [402, 'Unauthorized', false],
    [403, 'Unauthorized', false],
    [404, 'AnswerUnreadable', false],
    [405, 'AnswerUnreadable', false],
    [408, 'ServiceUnreachable', true],
    [409, 'SubmitUnconfirmed', false],
    [413, 'InvalidRequest', false],
    [422, 'InvalidRequest', false],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
    [502, 'SubmitUnconfirmed', false],
    [503, 'ServiceFailed', true],
    [529, 'ServiceFailed', true],
    [530, 'ServiceFailed', true],
    [799, 'AnswerUnreadable', false],
    [504, 'SubmitUnconfirmed', false],
    [520, 'SubmitUnconfirmed', false],
    [524, 'SubmitUnconfirmed', false],
    [527, 'SubmitUnconfirmed', false],
    [599, 'SubmitUnconfirmed', false],
  ],
  poll: [
    [302, 'AnswerUnreadable', true],
    [400, 'AnswerUnreadable', true],
    [401, 'Unauthorized', false],
    [403, 'Unauthorized', false],
    [404, 'TaskUnknown', false],
    [410, 'TaskUnknown', false],
    [422, 'AnswerUnreadable', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
    [503, 'ServiceFailed', true],
    [799, 'AnswerUnreadable', true],
  ],
  'download, asking for its link': [
    [302, 'AnswerUnreadable', true],
    [400, 'AnswerUnreadable', true],
    [401, 'Unauthorized', true],
    [403, 'Unauthorized', true],
    [404, 'TaskUnknown', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
  ],
  download: [
    [302, 'VideoUnavailable', true],
    [400, 'VideoUnavailable', true],
    [401, 'VideoUnavailable', true],
    [403, 'VideoUnavailable', true],
    [404, 'VideoUnavailable', true],
    [410, 'VideoUnavailable', true],
    [429, 'RateLimited', true],
    [500, 'ServiceFailed', true],
    [503, 'ServiceFailed', true],
  ],
};

/** A server error that does not say that the service takes nothing: only the same service is asked again. */
const mayHaveTask = (call: CallName, type: FailureType, status: number) =>
  call === 'submit' && type !== 'SubmitUnconfirmed' && status >= 500 && status !== 503 && status !== 529;

const CALL_NAMES = Object.keys(ANSWERS) as CallName[];
const ROWS = CALL_NAMES.flatMap((call) => ANSWERS[call].map((row) => [call, ...row] as const));

test.each(ROWS)(
  'an HTTP status to a %s, %d means %s, retryable %j',
  async (call, status, type, retryable) => {
    const generations = world.emulator.generations().length;
    script[call](status);
    const { failure, details } = await failureOf(start(call, world.activities, { attempt: 1 }));

    expect([failure.type, !failure.nonRetryable]).toEqual([type, retryable]);
    expect(details).toEqual({
      ...(call === 'submit' ? {} : { taskId }),
      status,
      code: 'c',
      message: 'no foxes',
      attempt: 1,
      ...(type === 'SubmitUnconfirmed' && { onLostSubmit: 'hold', lostSubmit: expect.any(String) }),
      ...(mayHaveTask(call, type, status) && { mayHaveTask: true }),
    });
    expect(failure.message).toContain(`HTTP ${status}, code c, no foxes`);
    expect(failure.cause).toMatchObject({ name: 'ServiceFault', kind: 'answered' });
    expect(failure.message.includes(taskId)).toBe(call !== 'submit');
    expect(world.emulator.generations()).toHaveLength(generations);
  },
);

test.each<[FailureType, object]>([
  ['InvalidRequest', {}],
  // The service may refuse a known key, and then a task exists.
  ['SubmitUnconfirmed', { idempotencyKey: 'of-the-caller' }],
])('an answer with status 200 that refuses a submit means %s when the input has %j', async (type, input) => {
  const service = await startRawServer((request) =>
    replyJson(request, { error: { code: 'bad', message: 'No.' }, request_id: 'r' }),
  );
  const { submitVideo } = world.activitiesAt(service.url);
  const { failure, details } = await failureOf(
    world.run(submitVideo, { request: REQUEST, ...input }, asJob()),
  );
  expect([failure.type, failure.nonRetryable]).toEqual([type, true]);
  expect(details).toMatchObject({ status: 200, code: 'bad', message: 'No.' });
  expect(service.requests).toHaveLength(1);
  await service.close();
});

describe('a status after which a task may exist, according to the profile,', () => {
  const profile = { refusals: { taskMayExist: [429, 500] } };

  it.each<[CallName, number, FailureType]>([
    ['submit', 500, 'SubmitUnconfirmed'],
    ['submit', 429, 'SubmitUnconfirmed'],
    ['submit', 503, 'ServiceFailed'],
    ['poll', 500, 'ServiceFailed'],
  ])('to a %s, %d means %s', async (call, status, type) => {
    script[call](status);
    const { failure } = await failureOf(start(call, world.activitiesAt(world.emulator.url, { profile })));
    expect([failure.type, failure.nonRetryable]).toEqual([type, type === 'SubmitUnconfirmed']);
  });
});

describe('Retry-After', () => {
  const MINUTE = 60_000;
  const in30Seconds = () => new Date(Date.now() + 30_000);
  const scriptFault = (call: CallName, retryAfter?: number | Date) => {
    const limited: Faults['status'] & Faults['submit'] = { kind: 'rate-limited', retryAfter };
    world.emulator.next(call === 'submit' || call === 'download' ? call : 'status', limited);
  };

  const waits: [what: string, retryAfter: () => number | Date, least: number, most: number][] = [
    ['of 5 seconds', () => 5, 5_000, 5_500],
    ['of 0, which becomes a second', () => 0, 1_000, 1_100],
    ['of ten minutes', () => 600, 10 * MINUTE, 11 * MINUTE],
    ['of an hour, which becomes ten minutes', () => 3_600, 10 * MINUTE, 11 * MINUTE],
    // HTTP dates have whole seconds, so one may be lost to rounding.
    ['as a date', in30Seconds, 28_000, 33_000],
  ];

  describe.each(CALL_NAMES)('to a %s', (call) => {
    it.each(waits)('%s is the retry delay, with jitter', async (_what, retryAfter, least, most) => {
      scriptFault(call, retryAfter());
      const { failure, details } = await failureOf(start(call));
      expect(failure.type).toBe('RateLimited');
      expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(least);
      expect(failure.nextRetryDelay).toBeLessThanOrEqual(most);
      expect(details).toMatchObject({ status: 429, code: 'rate_limited', message: 'too many requests' });
    });

    it('that is absent leaves the delay to the retry policy', async () => {
      scriptFault(call);
      const { failure } = await failureOf(start(call));
      expect(failure.nextRetryDelay).toBeUndefined();
      expect(failure.nonRetryable).toBe(false);
    });
  });
});

test.each(CALL_NAMES)(
  'a failure of a %s repeats the service’s message without control characters',
  async (call) => {
    const refused = {
      kind: 'refused',
      status: 500,
      code: 'a\u0000b',
      message: 'one\r\n\ttwo\u001b[31m \u202e',
    } as const;
    world.emulator.next(call === 'submit' || call === 'download' ? call : 'status', refused);
    const { failure, details } = await failureOf(start(call));
    expect(details).toMatchObject({ code: 'a b', message: 'one two' });
    expect(failure.message).toMatch(/^[^\p{Cc}\p{Cf}]+$/u);
  },
);

test('a failure never contains the API key or the signature of a link', () => {
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  expect(world.everythingReported()).not.toContain(world.emulator.linkSignature);
  expect(world.everythingReported()).toContain('too many requests');
});

const TEXT: VideoRequest = { prompt: 'A red fox' };

describe('a submit whose content is refused', () => {
  let world: ActivityWorld;
  beforeAll(async () => {
    world = await createActivityWorld();
  });
  afterAll(() => world.close());
  const refused = (status: number, code = 'content_policy_violation') =>
    world.emulator.next('submit', { kind: 'refused', status, code, message: 'no foxes' });
  const submit = (more = {}, info = {}) =>
    world.run(world.activities.submitVideo, { request: TEXT, ...more }, { ...asJob(), ...info });

  it.each([400, 403, 413, 418, 422, 451])(
    'with HTTP %d has the service’s own code and message',
    async (status) => {
      refused(status);
      const { failure, details } = await failureOf(submit());
      expect([failure.type, failure.nonRetryable]).toEqual(['ContentRefused', true]);
      expect(details).toEqual({
        status,
        code: 'content_policy_violation',
        message: 'no foxes',
        stage: 'prompt',
        field: 'prompt',
        attempt: 1,
      });
      expect(failure.message).toContain('The content policy of the service refused the prompt: HTTP');
    },
  );

  it.each([
    [401, 'Unauthorized'],
    [402, 'Unauthorized'],
    [404, 'AnswerUnreadable'],
    [409, 'SubmitUnconfirmed'],
    [429, 'RateLimited'],
    [500, 'ServiceFailed'],
    [502, 'SubmitUnconfirmed'],
  ])('with HTTP %d is %s, whatever its code', async (status, type) => {
    refused(status);
    const { failure, details } = await failureOf(submit());
    expect(failure.type).toBe(type);
    expect(details).not.toHaveProperty('stage');
  });

  it('is refused also when the service may know its key, and mentions a submit that was lost before', async () => {
    refused(422);
    const resubmitted = await failureOf(submit({ repeats: ['send-1'] }));
    expect(resubmitted.failure.type).toBe('ContentRefused');
    const lost = { heartbeatDetails: { sends: [{ id: 'send-1', attempt: 1 }] }, attempt: 2 };
    refused(422);
    const { failure } = await failureOf(submit({ onLostSubmit: 'resubmit' }, lost));
    expect(failure.type).toBe('ContentRefused');
    expect(failure.message).toContain('a task may still exist');
  });
});
