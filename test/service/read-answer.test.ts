import { TASK_STATES } from '../../src/contract/job';
import {
  type HttpAnswer,
  parseProfile,
  readingRules,
  type ServiceProfile,
  type TracedReading,
  traceAnswer,
} from '../../src/service';
import { failed, PROVIDERS, running, succeeded, unknown, VIDEO } from './provider-answers';
import { type Reply, reply } from './raw-server';
import { connect, faultOf, serve, submit } from './service-world';

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
    [{ task_id: 'abc' }, 'abc'],
    [{ task_id: 42 }, '42'],
    [{ task_id: ' a b ' }, 'a b'],
    [{ request_id: 'call', data: { generation_id: 'g' } }, 'g'],
    [{ id: 'event', data: { task_id: 't' } }, 't'],
    [{ task_id: '', id: 'b' }, 'b'],
    [{ task_id: 'x'.repeat(1_000) }, 'x'.repeat(1_000)],
  ])('is found in %j', (body, taskId) => {
    expect(taskIdOf(body)).toBe(taskId);
  });

  it.each([0, -1, 1.5, true, null, '', '  ', {}, ['a']])('is never %j', (id) => {
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
    [{ status: 'ok', data: { task_status: 'failed' } }, failed('failed'), 'data.task_status'],
    [{ status: 'success', data: { status: 'brewing' } }, unknown('brewing'), 'data.status'],
    [{ status: 200, data: { status: 'success' } }, succeeded('success'), 'data.status'],
    [{ status: -1, data: { status: 2.5 } }, unknown('-1'), 'status'],
    [{ done: true }, succeeded('done: true'), 'done'],
    [{ done: false }, running('done: false'), 'done'],
    [{ done: true, error: { code: 5 } }, failed('done: true'), 'done'],
  ])("is the task's, not the envelope's, in %j", (body, task, path) => {
    const { task: read, found } = trace(body);
    expect({ read, path: found.state }).toEqual({ read: task, path });
  });

  it.each(['', '{"id":"a"}', `{"url":"${VIDEO}"}`, '<p>wait</p>'])(
    'is running in a 202 that has no word: %j',
    (body) => {
      expect(traceText(body, 202).task).toEqual(running(''));
    },
  );

  it.each([
    [200, 'failed'],
    [300, 'unknown'],
    [400, 'unknown'],
  ])('is read only from an answer with status 2xx: %d means %s', (status, state) => {
    expect(taskOf({ status: 'failed', url: VIDEO }, status)).toEqual({ state, word: 'failed' });
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

describe('an error in an answer', () => {
  it.each([199, 300, 400])(
    'with HTTP %d is no refusal in the body, and the id beside it is read',
    (status) => {
      const { refusal, taskId } = trace({ id: 'a', error: { message: 'No.' } }, { status });
      expect({ refusal, taskId }).toEqual({ taskId: 'a' });
    },
  );

  it.each([200, 299])('with HTTP %d refuses, and an id that may be of the call is not read', (status) => {
    const { refusal, taskId } = trace({ id: 'a', error: { message: 'No.' } }, { status });
    expect({ refusal, taskId }).toEqual({ refusal: { path: 'error' } });
  });
});

it.each([
  [0, 0],
  [0.29, 29],
  [0.999, 100],
  [1, 1],
  [33.4, 33],
  [100, 100],
  ['0.5 %', 1],
  ['0.5', 50],
  [101, undefined],
  [-1, undefined],
  ['45% of all', undefined],
  [null, undefined],
  ['9'.repeat(30), undefined],
])('the progress %j is read as %j percent', (progress, percent) => {
  expect(taskOf({ status: 'running', progress })).toEqual(running('running', percent));
});

describe('the address of the video', () => {
  it.each([
    { video_url: VIDEO },
    { videoUrl: VIDEO },
    { content: { video_url: VIDEO } },
    { content: { url: VIDEO } },
    { video: { url: VIDEO } },
    { videos: [{ url: VIDEO }] },
    { videos: [{ video_url: VIDEO }] },
    { task_result: { videos: [{ url: VIDEO }] } },
    { assets: { video: VIDEO } },
    { output: { videos: [{ url: VIDEO }] } },
    { output: VIDEO },
    { output: [VIDEO] },
    { outputs: [VIDEO] },
    { results: [VIDEO] },
    { resultUrls: [VIDEO] },
    { creations: [{ url: VIDEO }] },
    { response: { generatedVideos: [{ video: { uri: VIDEO } }] } },
    { response: { generateVideoResponse: { generatedSamples: [{ video: { uri: VIDEO } }] } } },
    { result_url: VIDEO },
    { download_url: VIDEO },
    { url: VIDEO },
  ])('is found in %j, at the root and inside data, task, output and result', (body) => {
    for (const answer of [body, { data: body }, { task: body }, { output: body }, { result: body }]) {
      expect(taskOf(answer)).toEqual(succeeded('', VIDEO));
    }
  });

  it.each([
    ['a whole object', { data: JSON.stringify({ status: 'succeeded', video_url: VIDEO }) }, 'succeeded'],
    ['a list', { output: JSON.stringify([VIDEO]) }, ''],
    ['an entry of a list', { videos: [JSON.stringify({ url: VIDEO })] }, ''],
    ['a result', { data: { state: 'success', resultJson: ` {"resultUrls":["${VIDEO}"]}` } }, 'success'],
  ])('is found in JSON in a string: %s', (_what, body, word) => {
    expect(taskOf(body)).toEqual(succeeded(word, VIDEO));
  });

  const page = 'https://example.com/page';
  it.each([
    ['the most specific one', { url: page, data: { outputs: [VIDEO] } }, VIDEO],
    ['a plain url if there is no other', { url: page, video_url: null }, page],
    ['the first http link of a list', { outputs: [null, '', 'gs://bucket/1.mp4', VIDEO, page] }, VIDEO],
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
    [{ status: 'failed', video_url: VIDEO }, failed('failed')],
  ])('means succeeded beside an unknown word, and nothing beside another state: %j', (body, task) => {
    expect(taskOf(body)).toEqual(task);
  });

  it.each([
    'cover',
    'cover_url',
    'thumbnail',
    'thumbnail_url',
    'watermark',
    'watermark_url',
    'last_frame_url',
    'polling_url',
  ])('is never taken from %s', (key) => {
    const other = { [key]: 'https://cdn.example.com/other' };
    const holders = { content: other, video: other, videos: [other], assets: other, output: other };
    expect(taskOf({ status: 'completed', ...other, ...holders, data: holders })).toEqual(
      succeeded('completed'),
    );
  });

  it.each([
    'ftp://example.com/1.mp4',
    'file:///etc/passwd',
    'data:https://cdn.example.com/1.mp4',
    'javascript:alert(1)',
    '/',
    '/\\\\cdn.example.com/1.mp4',
    'v/1.mp4',
    '//cdn.example.com/1.mp4',
    // A URL drops a tab or a line break after the slash, and then reads the rest as another host.
    '/\t/cdn.example.com/1.mp4',
    '/\n\\cdn.example.com/1.mp4',
    '/\r/[',
    'https:cdn.example.com',
    'https://',
    'http://[bad',
    7,
    { href: VIDEO },
  ])('is never %j', (video_url) => {
    for (const baseUrl of [undefined, 'https://api.example.com'])
      expect(trace({ status: 'completed', video_url }, { baseUrl }).task).toEqual(succeeded('completed'));
  });
});

describe("the service's own code and message", () => {
  const c = { code: 'c', message: 'm' };
  it.each([
    [{ error: { ...c, type: 't' }, code: 'x', message: 'y' }, c],
    [{ error: { code: null, type: 'c', message: 'm' } }, c],
    [{ error: JSON.stringify(c) }, c],
    [
      { code: 1102, msg: 'No balance' },
      { code: '1102', message: 'No balance' },
    ],
    [{ detail: 'Not found' }, { message: 'Not found' }],
    [{ code: 0, message: 'all is well', data: { failMsg: 'Refused' } }, { message: 'Refused' }],
    [{ message: ' \n', detail: ' No. ' }, { message: 'No.' }],
    [{ code: '', message: ' ', error: '', detail: [{ msg: '' }, {}] }, {}],
  ])('are read from %j', (body, serviceMessage) => {
    expect(trace(body, { status: 400 }).serviceMessage).toEqual(serviceMessage);
  });

  it.each([0, 200, '0', '200', 'success', 'SUCCESS', 'Succeed', 'ok'])(
    'have no code when it is %j',
    (code) => {
      const said = { message: 'All is well' };
      for (const body of [
        { code, ...said },
        { error: { code, ...said } },
        { base_resp: { status_code: code, status_msg: 'All is well' } },
      ])
        expect(trace(body).serviceMessage).toEqual(said);
    },
  );

  it('are cut when they would fill a log, as the word is', () => {
    const { serviceMessage, task } = trace({
      status: 'w'.repeat(9e5),
      code: 'c'.repeat(9e5),
      message: 'm'.repeat(9e5),
    });
    const texts = [task.word, serviceMessage.code, serviceMessage.message];
    expect(texts.map((text) => text?.length)).toEqual([100, 100, 1_000]);
  });
});

describe('a malformed answer', () => {
  it.each([
    '',
    ' ',
    '<html><body>502 Bad Gateway</body></html>',
    'null',
    '42',
    '"task_id"',
    '{"task_id":',
    '{]',
  ])('that is not a JSON object or list says nothing: %j', (body) => {
    expect(saidIn(traceText(body))).toEqual({ json: false, task: unknown(), serviceMessage: {} });
  });

  it.each([
    ['nested a million deep', `{"task_id":"a","output":${'['.repeat(1e6)}${']'.repeat(1e6)}}`],
    ['a list of a million entries', `{"task_id":"a","videos":[${'{},'.repeat(1e6)}{}]}`],
    ['one string of megabytes', `{"task_id":"a","n":1234567890123456789,"output":"${'\\"'.repeat(2e6)}"}`],
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
      { status: 'succeeded', error: { message: 'x' } },
      'status says succeeded, and there is an error at error',
    ],
    [
      { done: true, url: VIDEO, data: { status: 'completed', error: { code: 5 } } },
      'data.status says completed, and there is an error at data.error',
    ],
  ])('a doubt about %j', (body, doubt) => {
    expect(trace(body).doubts).toEqual([doubt]);
  });

  it.each([
    [{ task_id: 'a', data: { task_id: 'a' } }],
    [{ task_id: 'a', data: { task_id: 1.5 } }],
    [{ request_id: 'call', data: { task_id: 'b' } }],
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
    ['seconds, whatever the Date beside them', { 'retry-after': '7', date: at(-HOUR) }, 7_000],
    ['a date, against our clock when the answer has no Date', { 'retry-after': at(30_000) }, 30_000],
    ['a date of a service whose clock is ahead', { 'retry-after': at(HOUR + 5_000), date: at(HOUR) }, 5_000],
    ['a date of one whose clock is behind', { 'retry-after': at(5_000 - HOUR), date: at(-HOUR) }, 5_000],
    ['a date that has passed', { 'retry-after': at(-5_000) }, 0],
    ['a date of ISO 8601', { 'retry-after': '2026-11-15T13:00:08+01:00' }, 8_000],
    ['two headers that a proxy has joined', { 'retry-after': '3, 60' }, 3_000],
    ['nothing', {}, undefined],
  ])('is read as %s', (_what, headers, expected) => {
    expect(read(headers)).toBe(expected);
  });

  // The last two are without a zone: the worker's own would be taken.
  it.each([
    ...['', 'soon', '-5', '+5', 'in 5', '5 seconds', '0x10', '1e3', 'Infinity', '9'.repeat(400), '12:00'],
    ...['Sun, 99 Nov 2026 12:00:00 GMT', 'Sun Nov 15 12:00:08 2026', '2026-11-15T12:00:08'],
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

  it.each<[body: object]>([
    [{ cost: 0.25 }],
    [{ credits: 12 }],
    [{ price: '$0.25' }],
    // Before the end of a task it is an estimate of theirs.
    [{ status: 'running', cost_usd: 0.25 }],
    [{ status: 'strange', cost_usd: 0.25 }],
    ...[-0.25, 1e300, '0.25', '\u001b[31mfree', true, null, {}, []].map((cost_usd): [object] => [
      { cost_usd },
    ]),
  ])('is not read from a field that may mean anything or is no amount: %j', (body) => {
    expect(read(body).charged).toBeUndefined();
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
    ['P1', 'running'],
    [2, 'running'],
    ['2', 'running'],
    ['PX', 'failed'],
    [-1, 'cancelled'],
    ['succeeded', 'succeeded'],
    [3, 'unknown'],
  ])('the word %j means %s', (phase, state) => {
    expect(trace({ ticket: { phase } }, {}, PROFILE).task.state).toBe(state);
  });
});

/** Submits to a service that answers so. */
async function submitTo(body: unknown, profile?: ServiceProfile, head: Reply = {}) {
  const { url } = await serve((request) => reply(request, { ...head, body: JSON.stringify(body) }));
  return submit(connect(url, { profile }));
}

const SERVICE_MESSAGE = { code: 'bad_prompt', message: 'No foxes.' };

describe('an answer with status 200 to a submit', () => {
  it.each<[body: object, status: number, code: string | undefined]>([
    [{ code: 400, message: 'No foxes.', request_id: 'abc' }, 400, '400'],
    [{ code: 429, message: 'No foxes.' }, 429, '429'],
    [{ code: 500, msg: 'No foxes.', requestId: 'abc' }, 500, '500'],
    [{ status: 422, message: 'No foxes.', request_id: 'abc' }, 422, undefined],
    [{ error: { code: 404, message: 'No foxes.' }, request_id: 'abc' }, 404, '404'],
  ])('that has an HTTP status in its body counts as an answer with it: %j', async (body, status, code) => {
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'answered',
      facts: { status, code, message: 'No foxes.', ...(status === 429 && { limited: true }) },
    });
  });

  it.each<[body: object, serviceMessage: object]>([
    [{ error: SERVICE_MESSAGE, request_id: 'abc' }, SERVICE_MESSAGE],
    [{ error: SERVICE_MESSAGE, id: 1, jsonrpc: '2.0' }, SERVICE_MESSAGE],
    [{ success: false, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ status: 'error', message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ errors: [{ message: 'No foxes.' }], request_id: 'abc' }, { message: 'No foxes.' }],
  ])('that refuses in its body is a refusal, with the service’s own message: %j', async (body, said) => {
    expect(await faultOf(submitTo(body))).toMatchObject({ kind: 'refused', facts: { status: 200, ...said } });
  });

  it('that has an unknown code and no clear task id may have made a task, and is quoted', async () => {
    const body = { code: 1102, message: 'No balance', request_id: 'abc' };
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, code: '1102', message: `the answer names no task: ${JSON.stringify(body)}` },
    });
  });

  it.each<[body: object, taskId: string]>([
    [{ request_id: 'abc' }, 'abc'],
    [{ request_id: 'abc', status: 'IN_QUEUE', queue_position: 1 }, 'abc'],
    [{ request_id: 'abc', error: null }, 'abc'],
    [{ request_id: 'abc', error: { code: 0, message: '' } }, 'abc'],
    [{ request_id: 'abc', code: 0, message: 'success' }, 'abc'],
    [{ request_id: 'abc', code: 'success', success: true }, 'abc'],
    // A task that has already failed is still a task: a poll returns the reason.
    [{ request_id: 'abc', status: 'failed', error: SERVICE_MESSAGE }, 'abc'],
    [{ request_id: 'abc', status: 'queued', error: { message: 'image ignored' } }, 'abc'],
    // Paths that mean a task and nothing else.
    [{ task_id: 't', request_id: 'abc', error: SERVICE_MESSAGE }, 't'],
    [{ data: { task_id: 't' }, success: false }, 't'],
    [{ generation_id: 'g', code: 500 }, 'g'],
    [{ code: 7, message: 'fine', id: 't' }, 't'],
  ])('that names a task has made it: %j', async (body, taskId) => {
    expect(await submitTo(body)).toMatchObject({ taskId });
  });

  it('that names a task and has an error leaves a doubt', async () => {
    expect(await submitTo({ task_id: 't', error: SERVICE_MESSAGE })).toEqual({
      taskId: 't',
      doubts: ['task_id is t, and error says that the request was refused'],
    });
  });
});

it.each([
  ['https://user:pass@api.example.com/v2/videos?token=abc', 'https://api.example.com'],
  ['/v2/videos?token=abc', 'another path of the service'],
])('a redirect of a submit to %s says only to which origin it leads', async (location, where) => {
  expect((await faultOf(submitTo('', {}, { status: 308, headers: { location } }))).facts).toMatchObject({
    status: 308,
    message: `it redirects to ${where}`,
  });
});
