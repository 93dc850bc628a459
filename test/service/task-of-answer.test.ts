import { type HttpAnswer, traceAnswer } from '../../src/service/read-answer';

const VIDEO = 'https://cdn.example.com/v/1.mp4';
const trace = (body: unknown, rest: Partial<HttpAnswer> = {}) =>
  traceAnswer({ status: 200, body: JSON.stringify(body), ...rest });
const taskOf = (body: unknown, status = 200) => trace(body, { status }).task;

describe('a reading has only what the answer says', () => {
  it.each([
    [{ status: 'queued' }, { state: 'queued', word: 'queued' }],
    [
      { status: 'running', progress: 7 },
      { state: 'running', word: 'running', percent: 7 },
    ],
    [{ status: 'succeeded' }, { state: 'succeeded', word: 'succeeded' }],
    [{ status: 'failed' }, { state: 'failed', word: 'failed' }],
  ])('of the task in %j', (body, task) => {
    expect(taskOf(body)).toEqual(task);
  });

  it.each([
    [{}, {}],
    [{ code: 'E1' }, { code: 'E1' }],
    [{ message: ' No. ' }, { message: 'No.' }],
    [{ message: ' \n', detail: 'No.' }, { message: 'No.' }],
  ])('of the code and the message in %j', (body, serviceMessage) => {
    expect(trace(body, { status: 400 }).serviceMessage).toEqual(serviceMessage);
  });

  it('of an id that cannot be used', () => {
    const long = 'x'.repeat(1_001);
    expect(trace({ task_id: long })).toMatchObject({ taskId: undefined, unusableId: long });
    expect(trace({ task_id: 'a' }).unusableId).toBeUndefined();
    expect(trace({}).unusableId).toBeUndefined();
  });
});

describe('the word for the state', () => {
  it.each([
    [{ done: true }, { state: 'succeeded', word: 'done: true' }, 'done'],
    [{ done: false }, { state: 'running', word: 'done: false' }, 'done'],
    [{ done: true, error: { code: 5 } }, { state: 'failed', word: 'done: true' }, 'done'],
    [{ status: 'brewing', done: true }, { state: 'succeeded', word: 'brewing' }, 'status'],
    [{ done: 'yes' }, { state: 'unknown', word: '' }, undefined],
    [{ status: 7, data: { status: 'P5' } }, { state: 'unknown', word: 'P5' }, 'data.status'],
    [{ status: 7, data: { status: '5 of 9' } }, { state: 'unknown', word: '5 of 9' }, 'data.status'],
    [{ status: -1, data: { status: 2.5 } }, { state: 'unknown', word: '-1' }, 'status'],
  ])('in %j is found', (body, task, path) => {
    const { task: read, found } = trace(body);
    expect({ read, path: found.state }).toEqual({ read: task, path });
  });

  it('is cut, as code and message are', () => {
    const { task, serviceMessage } = trace({
      status: 'w'.repeat(150),
      code: 'c'.repeat(150),
      message: 'm'.repeat(1_500),
    });
    expect([task.word, serviceMessage.code, serviceMessage.message].map((text) => text?.length)).toEqual([
      100, 100, 1_000,
    ]);
  });
});

describe('the HTTP status decides whether an answer is about a task', () => {
  it.each([
    [100, 'unknown'],
    [199, 'unknown'],
    [200, 'failed'],
    [299, 'failed'],
    [300, 'unknown'],
    [400, 'unknown'],
  ])('%d: a word for a failure means %s', (status, state) => {
    expect(taskOf({ status: 'failed' }, status).state).toBe(state);
  });

  it.each([199, 300, 400])(
    '%d: an error is no refusal in the body, and the id beside it is read',
    (status) => {
      const { refusal, taskId } = trace({ id: 'a', error: { message: 'No.' } }, { status });
      expect({ refusal, taskId }).toEqual({ taskId: 'a' });
    },
  );

  it.each([200, 299])(
    '%d: an error is a refusal, and an id that may be of the call is not read',
    (status) => {
      const { refusal, taskId } = trace({ id: 'a', error: { message: 'No.' } }, { status });
      expect({ refusal, taskId }).toEqual({ refusal: { path: 'error' } });
    },
  );

  it('a task that is done, or that has a word, is not refused', () => {
    for (const sign of [{ done: true }, { status: 'failed' }]) {
      const { refusal, taskId } = trace({
        ...sign,
        name: 'operations/1',
        error: { code: 5, message: 'No.' },
      });
      expect({ refusal, taskId }).toEqual({ taskId: 'operations/1' });
    }
  });
});

describe('doubts', () => {
  it('say what there is instead of a word', () => {
    const { task, doubts } = trace({ url: VIDEO, error: { message: 'x' } }, { status: 201 });
    expect(task.state).toBe('succeeded');
    expect(doubts).toEqual(['the answer says done, and there is an error at error']);
  });

  it.each([
    [{ id: 'a' }],
    [{ request_id: 'a', data: { request_id: 'b' } }],
    [{ task_id: 'a', data: { task_id: 1.5 } }],
    [{ task_id: 'a', data: { task_id: '' } }],
  ])('are none about the ids of %j', (body) => {
    expect(trace(body).doubts).toEqual([]);
  });
});

it('a date to come back at is measured against the time of the answer', () => {
  const receivedAtMs = Date.UTC(2026, 0, 1);
  const headers = { 'retry-after': new Date(receivedAtMs + 9_000).toUTCString() };
  expect(trace({}, { headers, receivedAtMs }).retryAfterMs).toBe(9_000);
});

describe('a value is read', () => {
  it.each([
    ['http://cdn.example.com/1.mp4', true],
    ['HTTPS://cdn.example.com/1.mp4', true],
    ['data:https://cdn.example.com/1.mp4', false],
    [`${VIDEO}?${'a'.repeat(16_000 - VIDEO.length - 1)}`, true],
    [`${VIDEO}?${'a'.repeat(16_000 - VIDEO.length)}`, false],
  ])('as a link: %s', (video_url, isLink) => {
    expect(taskOf({ video_url })).toStrictEqual(
      isLink ? { state: 'succeeded', word: '', videoUrl: video_url } : { state: 'unknown', word: '' },
    );
  });

  it.each([
    ['45 %', 45],
    ['45% of all', undefined],
    ['45 of 100', undefined],
    ['about 45', undefined],
  ])('as progress: %s', (progress, percent) => {
    expect(taskOf({ status: 'running', progress })).toEqual({ state: 'running', word: 'running', percent });
  });

  it('as a code, unless it is a number beyond all numbers', () => {
    const codeOf = (code: string) =>
      traceAnswer({ status: 400, body: `{"code":${code}}` }).serviceMessage.code;
    expect(['7', '-7.5', '1e999', 'true', '[7]'].map(codeOf)).toEqual(['7', '-7.5', ...Array(3)]);
  });
});
