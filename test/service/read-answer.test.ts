import { TASK_STATES } from '../../src/contract/job';
import {
  type HttpAnswer,
  parseProfile,
  readingRules,
  type ServiceProfile,
  type TracedReading,
  traceAnswer,
} from '../../src/service';
import { fc } from '../support/properties';
import { failed, PROVIDERS, running, succeeded, unknown, VIDEO } from './provider-answers';

const trace = (body: unknown, rest: Partial<HttpAnswer> = {}, profile: ServiceProfile = {}) =>
  traceAnswer({ status: 200, body: JSON.stringify(body), ...rest }, readingRules(profile));
const traceText = (body: string, status = 200) => traceAnswer({ status, body });
const taskOf = (body: unknown, status = 200) => trace(body, { status }).task;
const taskIdOf = (body: unknown) => trace(body).taskId;

const saidIn = ({ json, taskId, task, serviceMessage }: TracedReading) => ({
  json,
  ...(taskId !== undefined && { taskId }),
  task,
  serviceMessage,
});

it.each(PROVIDERS.filter(({ name }) => name !== 'pixverse'))(
  'the answers of $name are read without a profile',
  ({ name, taskId, answers }) => {
    const [submitted, ...polls] = answers.map((answer) => traceAnswer(answer));
    expect(submitted?.taskId).toBe(taskId);
    // Some have the video behind a call of its own, fal answers HTTP 422, and Vidu has no message.
    const videoUrl = name === 'openai' || name === 'minimax' ? undefined : VIDEO;
    expect(polls.map(({ task }) => task)).toMatchObject([
      { state: 'running' },
      { state: 'succeeded', videoUrl },
      { state: name === 'fal' ? 'unknown' : 'failed' },
    ]);
    const { code, message } = polls[2]?.serviceMessage ?? {};
    expect(message ?? code).toBe(name === 'vidu' ? 'E7' : 'Not this.');
    for (const { doubts } of polls) expect(doubts).toEqual([]);
  },
);

describe('the id of a task', () => {
  it.each([
    [{ task_id: 42 }, '42'],
    [{ task_id: ' a b ' }, 'a b'],
    [{ request_id: 'call', data: { generation_id: 'g' } }, 'g'],
    [{ id: 'event', data: { task_id: 't' } }, 't'],
    [{ task_id: '', id: 'b' }, 'b'],
    [{ task_id: 'x'.repeat(1_000) }, 'x'.repeat(1_000)],
  ])('is found in %j', (body, taskId) => {
    expect(taskIdOf(body)).toBe(taskId);
  });

  it.each([0, -1, 1.5, true, null, '  ', {}, ['a']])('is never %j', (id) => {
    expect(taskIdOf({ task_id: id })).toBeUndefined();
  });

  it('that is too long cannot be used, and no other is taken for it', () => {
    const long = 'x'.repeat(1_001);
    expect(trace({ task_id: long, id: 'a' })).toMatchObject({ taskId: undefined, unusableId: long });
  });
});

describe('the state of a task', () => {
  const words = {
    queued:
      'queued queueing queuing in_queue pending submitted created waiting wait preparing starting throttled not_start staged accepted',
    running: 'running processing in_progress generating dreaming started rendering',
    succeeded: 'succeeded succeed success completed complete done finished ready ok',
    failed:
      'failed fail failure error rejected nsfw moderated content_moderated request_moderated timeout timed_out expired',
    cancelled: 'cancelled canceled cancel aborted deleted',
    unknown: 'brewing unknown constructor __proto__ toString 5 -1 0.5',
  } satisfies Record<(typeof TASK_STATES)[number], string>;

  it.each(TASK_STATES)('is %s for the words that mean it', (state) => {
    for (const word of words[state].split(' '))
      expect(taskOf({ task_id: 'a', status: word })).toEqual({ state, word });
  });

  it.each([
    [{ status: 'success', data: { status: 'processing' } }, running('processing'), 'data.status'],
    [{ status: 'success', data: { status: 'brewing' } }, unknown('brewing'), 'data.status'],
    [{ status: 200, data: { status: 'success' } }, succeeded('success'), 'data.status'],
    [{ status: -1, data: { status: 2.5 } }, unknown('-1'), 'status'],
    [{ status: 'brewing', done: true }, succeeded('brewing'), 'status'],
    [{ done: true }, succeeded('done: true'), 'done'],
    [{ done: false }, running('done: false'), 'done'],
    [{ done: true, error: { code: 5 } }, failed('done: true'), 'done'],
  ])("is the task's, not the envelope's, in %j", (body, task, path) => {
    const { task: read, found } = trace(body);
    expect({ read, path: found.state }).toEqual({ read: task, path });
  });

  it.each(['', '{"id":"a"}', `{"url":"${VIDEO}"}`])('is running in a 202 that has no word: %j', (body) => {
    expect(traceText(body, 202).task).toEqual(running(''));
  });

  it('is read only from an answer with status 2xx', () => {
    const states = [199, 200, 299, 300].map((status) => taskOf({ status: 'failed' }, status).state);
    expect(states).toEqual(['unknown', 'failed', 'failed', 'unknown']);
  });

  it.each([
    [{ id: 'a', status: 'error', error: { message: 'x' } }, failed('error')],
    [{ error: { code: 'content_policy_violation' } }, failed('')],
    [{ status: 'running', error: { message: 'retrying' } }, running('running')],
    [{ status: 'brewing', error: { message: 'retrying' } }, unknown('brewing')],
  ])('in %j is that of the word, or of a task that is named or refused', (body, task) => {
    expect(taskOf(body)).toEqual(task);
  });
});

it.each([
  [199, { taskId: 'a' }],
  [200, { refusal: { path: 'error' } }],
  [299, { refusal: { path: 'error' } }],
  [300, { taskId: 'a' }],
])(
  'beside an error, the id in an answer with HTTP %d is that of a task or of a refused call: %j',
  (status, read) => {
    const { refusal, taskId } = trace({ id: 'a', error: { message: 'No.' } }, { status });
    expect({ refusal, taskId }).toEqual(read);
  },
);

it.each([
  [0, 0],
  [0.999, 100],
  [1, 1],
  [33.4, 33],
  ['0.5 %', 1],
  ['0.5', 50],
  [101, undefined],
  ['45% of all', undefined],
  ['now 45', undefined],
])('the progress %j is read as %j percent', (progress, percent) => {
  expect(taskOf({ status: 'running', progress })).toEqual(running('running', percent));
});

describe('the address of the video', () => {
  const page = 'https://example.com/page';
  it.each([
    ['the most specific one', { url: page, data: { outputs: [VIDEO] } }, VIDEO],
    // As MiniMax v2, Inworld and Evolink have it.
    ['that of the content', { task: { content: { type: 'video', url: VIDEO } } }, VIDEO],
    ['that of a list of videos', { output: { videos: [{ url: VIDEO }] } }, VIDEO],
    ['in a list of results', { results: [VIDEO] }, VIDEO],
    ['a plain url if there is no other', { url: page, video_url: null }, page],
    ['the first http link of a list', { outputs: [null, '', 'gs://bucket/1.mp4', VIDEO, page] }, VIDEO],
    ['in a list that is a text', { outputs: JSON.stringify([VIDEO]) }, VIDEO],
    ['in the first hundred entries of a list', { outputs: [...Array(99).fill(''), VIDEO] }, VIDEO],
    ['and no later one', { outputs: [...Array(100).fill(''), VIDEO] }, undefined],
    ['as long as an address can be', { url: VIDEO.padEnd(16_000, '?') }, VIDEO.padEnd(16_000, '?')],
    ['and no longer', { url: VIDEO.padEnd(16_001, '?') }, undefined],
    ['one at the service without its address', { url: '/v/1.mp4?s=1' }, '/v/1.mp4?s=1'],
  ])('is %s', (_which, body, link) => {
    expect(taskOf(body)).toEqual(link === undefined ? unknown() : succeeded('', link));
  });

  it.each([
    [{ status: 'brewed', video_url: VIDEO }, succeeded('brewed', VIDEO)],
    [{ status: 'running', video_url: VIDEO }, running('running')],
    [{ done: false, video_url: VIDEO }, running('done: false')],
  ])('means succeeded beside an unknown word, and nothing beside another state: %j', (body, task) => {
    expect(taskOf(body)).toEqual(task);
  });

  it.each([
    'file:///etc/passwd',
    '/',
    '/\\\\cdn.example.com/1.mp4',
    '//cdn.example.com/1.mp4',
    // A URL drops a tab or a line break after the slash, and then reads the rest as another host.
    '/\t/cdn.example.com/1.mp4',
    '/\n\\cdn.example.com/1.mp4',
    'https:cdn.example.com',
    'http://[bad',
    7,
  ])('is never %j', (video_url) => {
    for (const baseUrl of [undefined, 'https://api.example.com'])
      expect(trace({ status: 'completed', video_url }, { baseUrl }).task).toEqual(succeeded('completed'));
  });
});

describe("the service's own code and message", () => {
  const c = { code: 'c', message: 'm' };
  it.each([
    [{ error: { ...c, type: 't' }, code: 'x', message: 'y' }, c],
    [{ error: JSON.stringify(c) }, c],
    // A message is what the service wrote, also if that looks like JSON.
    [{ error: { message: '{"a":1}' } }, { message: '{"a":1}' }],
    [
      { code: 1200, msg: 'No balance' },
      { code: '1200', message: 'No balance' },
    ],
    [
      { code: 2001, msg: '1000' },
      { code: '2001', message: '1000' },
    ],
    [{ code: 0, message: 'all is well', data: { failMsg: 'Refused' } }, { message: 'Refused' }],
    [{ code: '', message: ' ', error: '', detail: [{ msg: '' }, {}] }, {}],
  ])('are read from %j', (body, serviceMessage) => {
    expect(trace(body, { status: 400 }).serviceMessage).toEqual(serviceMessage);
  });

  it.each([0, 200, '0', '00', 'SUCCESS', 'ok'])('have no code when it is %j', (code) => {
    const message = 'All is well';
    for (const body of [{ code, message }, { error: { code, message } }])
      expect(trace(body).serviceMessage).toEqual({ message });
  });

  it('are cut when they would fill a log, as the word is', () => {
    const [status, code, message] = ['w', 'c', 'm'].map((letter) => letter.repeat(9e5));
    const { serviceMessage, task } = trace({ status, code, message });
    const texts = [task.word, serviceMessage.code, serviceMessage.message];
    expect(texts.map((text) => text?.length)).toEqual([100, 100, 1_000]);
  });
});

describe('a malformed or unusual answer', () => {
  it.each(['', '<html><body>502 Bad Gateway</body></html>', 'null', '"task_id"', '{"task_id":'])(
    'that is not a JSON object or list says nothing: %j',
    (body) => {
      expect(saidIn(traceText(body))).toEqual({ json: false, task: unknown(), serviceMessage: {} });
    },
  );

  it.each([
    ['a list of many entries', `{"task_id":"a","videos":[${'{},'.repeat(1e5)}{}]}`],
    ['one long string', `{"task_id":"a","n":1234567890123456789,"output":"${'\\"'.repeat(5e5)}"}`],
    [
      'numbers beyond any number',
      `{"task_id":1e999,"id":"a","error":{"code":1e999},"progress":${'9'.repeat(5e3)}}`,
    ],
    ['marked by its byte order', '\uFEFF{"task_id":"a"}'],
  ])('is still read when it is %s', (_what, body) => {
    expect(saidIn(traceText(body))).toEqual({ json: true, taskId: 'a', task: unknown(), serviceMessage: {} });
  });
});

describe('a reading has', () => {
  it('the path of each value, inside JSON in a string too', () => {
    const data = { task_id: 't', task_status: 'processing', progress: 5, videos: [{}, { url: VIDEO }] };
    const { found, doubts } = trace({ code: 7, data: JSON.stringify(data), message: 'Busy' });
    expect(found).toEqual({
      taskId: 'data.task_id',
      state: 'data.task_status',
      progress: 'data.progress',
      video: 'data.videos[1].url',
      code: 'code',
      message: 'message',
    });
    expect(doubts).toEqual([]);
  });

  it.each([
    [{ task_id: 'a', data: { task_id: 'b' } }, 'task_id is a and data.task_id is b'],
    [
      { done: true, url: VIDEO, data: { status: 'completed', error: { code: 5 } } },
      'data.status says completed, and there is an error at data.error',
    ],
  ])('a doubt about %j', (body, doubt) => {
    expect(trace(body).doubts).toEqual([doubt]);
  });

  it.each([
    [{ task_id: 'a', data: { task_id: 1.5 } }],
    [{ status: 'succeeded', error: { code: 0, message: '' } }],
  ])('no doubt about %j', (body) => {
    expect(trace(body).doubts).toEqual([]);
  });
});

describe('Retry-After', () => {
  const NOW = Date.UTC(2026, 10, 15, 12, 0, 0);
  const at = (offsetMs: number) => new Date(NOW + offsetMs).toUTCString();
  const HOUR = 3_600_000;
  const read = (headers: HttpAnswer['headers']) => trace({}, { headers, receivedAtMs: NOW }).retryAfterMs;

  it.each<[what: string, headers: HttpAnswer['headers'], expected: number | undefined]>([
    ['seconds', { 'retry-after': ' 7 ' }, 7_000],
    ['milliseconds, where the service adds them', { 'retry-after-ms': ' 1500 ', 'retry-after': '2' }, 1_500],
    ['a fraction of a second', { 'retry-after': '1.5' }, 1_500],
    ['a date, against our clock when the answer has no Date', { 'retry-after': at(30_000) }, 30_000],
    ['a date of a service whose clock is ahead', { 'retry-after': at(HOUR + 5_000), date: at(HOUR) }, 5_000],
    ['a date that has passed', { 'retry-after': at(-5_000) }, 0],
    ['a date of ISO 8601', { 'retry-after': '2026-11-15T13:00:08+01:00' }, 8_000],
    ['a date with a zone without a colon', { 'retry-after': 'Sun, 15 Nov 2026 13:00:08 +0100' }, 8_000],
    ['two headers that a proxy has joined', { 'retry-after': '3, 60' }, 3_000],
    ['nothing', {}, undefined],
  ])('is read as %s', (_what, headers, expected) => {
    expect(read(headers)).toBe(expected);
  });

  // The last two are without a zone: the worker's own would be taken.
  it.each([
    ...['', '-5', 'in 5', '5 seconds', '1e3', '9'.repeat(400), 'Sun, 99 Nov 2026 12:00:00 GMT'],
    ...['Sun Nov 15 12:00:08 2026', '2026-11-15T12:00:08'],
  ])('is ignored when it is %j', (value) => {
    expect(read({ 'retry-after': value })).toBeUndefined();
  });
});

describe('what a task cost', () => {
  const PRICES = { currency: 'EUR', table: [{ perVideo: 1 }] };
  const read = (body: object, profile: ServiceProfile = {}) =>
    trace({ task_id: 'task_1', status: 'succeeded', ...body }, {}, profile);

  it.each<[body: object, amount: number, currency: string]>([
    [{ cost_usd: 0.25 }, 0.25, 'USD'],
    [{ usage: { cost_in_usd_ticks: 200_000_000 } }, 0.02, 'USD'],
    [{ credits_charged: 450 }, 450, 'credits'],
    [{ cost_usd: 0 }, 0, 'USD'],
    [{ cost_usd: 0, status: 'failed' }, 0, 'USD'],
  ])('is read without a profile from a field that says its unit: %j', (body, amount, currency) => {
    expect(read(body)).toMatchObject({ charged: { amount, currency }, doubts: [] });
  });

  it.each<[body: object, profile?: ServiceProfile]>([
    // Dollars are in no sum of euros.
    [{ cost_usd: 0.25 }, { prices: PRICES }],
    [{ cost: 0.25 }],
    [{ credits: 12 }],
    [{ price: '$0.25' }],
    // Before the end of a task it is an estimate of theirs.
    [{ status: 'running', cost_usd: 0.25 }],
    [{ status: 'strange', cost_usd: 0.25 }],
    ...[-0.25, '0.25', true].map((cost_usd): [object] => [{ cost_usd }]),
  ])('is not read from a field that may mean anything or is no amount: %j', (...[body, profile]) => {
    expect(read(body, profile).charged).toBeUndefined();
  });

  it.each<[charged: NonNullable<ServiceProfile['read']>['charged'], body: object, money: object]>([
    ['usage.cost', { usage: { cost: 0.5 } }, { amount: 0.5, currency: 'EUR' }],
    [{ amount: 'credits', currency: 'credits' }, { credits: 12 }, { amount: 12, currency: 'credits' }],
    [{ amount: 'cost_cents', divideBy: 100 }, { cost_cents: 45 }, { amount: 0.45, currency: 'EUR' }],
  ])('is read where the profile says, in its unit: %j', (charged, body, money) => {
    const profile = { prices: PRICES, read: { charged } };
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    expect(read(body, profile)).toMatchObject({ charged: money });
  });
});

describe('with a profile', () => {
  const PROFILE: ServiceProfile = {
    read: {
      ...{ within: 'ticket', taskId: 'ticket.no', state: ['ticket.phase'], progress: 'pct' },
      ...{ video: 'files[].href', code: 'e.c', message: 'e.m' },
    },
    states: { queued: ['P0'], running: ['P1', 2], succeeded: ['P9'], failed: ['PX'], cancelled: [-1] },
  };

  it('an answer is read at its paths, and not at the default ones', () => {
    const body = { ticket: { no: 7, phase: 'p-9' }, files: [{ href: VIDEO }], e: { c: 'c1', m: 'm1' } };
    expect(trace(body, {}, PROFILE)).toMatchObject({
      taskId: '7',
      task: succeeded('p-9', VIDEO),
      serviceMessage: { code: 'c1', message: 'm1' },
      found: {
        taskId: 'ticket.no',
        state: 'ticket.phase',
        video: 'files[0].href',
        code: 'e.c',
        message: 'e.m',
      },
    });
    const usual = { task_id: 'x', status: 'running', video_url: VIDEO };
    expect(trace(usual, {}, PROFILE)).toMatchObject({ taskId: undefined, task: unknown() });
  });

  it.each<[unknown, string]>([
    ['P0', 'queued'],
    [2, 'running'],
    ['2', 'running'],
    [-1, 'cancelled'],
    ['succeeded', 'succeeded'],
    [3, 'unknown'],
  ])('the word %j means %s', (phase, state) => {
    expect(trace({ ticket: { phase } }, {}, PROFILE).task.state).toBe(state);
  });
});

test('an answer within another object, or within a text there, reads as it does alone', () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  const link = fc.constantFrom(VIDEO, '/v/1.mp4', '//x/1.mp4', 'file:///1', '/\t/[', '/\n//x');
  const word = fc.constantFrom('running', 'succeeded', 'success', 'failed', '{', '[', '{"a":', true, false);
  const value = fc.oneof(
    ...[json, link, word, json.map((inner) => JSON.stringify(inner))],
    ...[fc.array(fc.record({ url: link })), fc.array(link), fc.record({ code: json, message: json })],
  );
  // With keys that the reader knows, or it would find nothing.
  const key = fc.constantFrom(
    ...['task_id', 'id', 'status', 'state', 'done', 'progress', 'error', 'code', 'message', 'detail'],
    ...['video_url', 'url', 'videos', 'outputs', 'content', '__proto__', 'other'],
  );
  const read = (status: number, body: object) => {
    const { taskId, task, serviceMessage } = trace(body, { status });
    return { taskId, task, serviceMessage };
  };
  const holders = fc.constantFrom('data', 'result', 'task', 'output');
  const statuses = fc.constantFrom(200, 202, 404, 500);
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 8 }), holders, statuses, (body, holder, status) => {
      const alone = read(status, body);
      expect(read(status, { [holder]: body })).toEqual(alone);
      expect(read(status, { [holder]: JSON.stringify(body) })).toEqual(alone);
    }),
    { numRuns: 200 },
  );
});

test('an id of any number of digits is read with every digit, as a number and as a text', () => {
  const digits = fc
    .integer({ min: 1, max: 60 })
    .chain((length) => fc.array(fc.integer({ min: 1, max: 9 }), { minLength: length, maxLength: length }))
    .map((list) => list.join(''));
  // Quotes, backslashes and digits in strings before it must not confuse the reader.
  const noise = fc.string({
    unit: fc.constantFrom('"', '\\', '1', '234567890123456789', ',', ':', 'é', '{'),
  });
  fc.assert(
    fc.property(digits, noise, noise, (id, before, after) => {
      const [first, last] = [before, after].map((text) => JSON.stringify(text));
      for (const written of [id, `"${id}"`]) {
        const body = `{"note":${first},"list":[1,-12345678901234567890,1.5e3,${id}],"task_id":${written},"more":${last}}`;
        expect(traceText(body).taskId).toBe(id);
      }
    }),
    { numRuns: 200 },
  );
});

test.each([
  '-12345678901234567890',
  '12345678901234567890.5',
  '12345678901234567890e2',
  '1e12345678901234567',
])('an id is not read from %s', (number) => {
  expect(traceText(`{"task_id":${number}}`).taskId).toBeUndefined();
});

test.each([10, 998, 1_002, 100_000])(
  'a value that is nested %d deep does not stop the rest from being read',
  (depth) => {
    const nested = (inner: string) => '{"a":['.repeat(depth / 2) + inner + ']}'.repeat(depth / 2);
    for (const strange of ['{}', '"]}]}"', String.raw`"\"[[["`, '1234567890123456789']) {
      const body = `{"a":${nested(strange)},"task_id":"t","b":${nested(strange)},"status":"running"}`;
      expect(traceText(body)).toMatchObject({ taskId: 't', task: { state: 'running' } });
    }
  },
);
