import { TASK_STATES } from '../../src/contract/job';
import { type TracedReading, traceAnswer } from '../../src/service/read-answer';
import { DEFAULT_RULES } from '../../src/service/reading-rules';
import { failed, PROVIDERS, queued, running, succeeded, unknown, VIDEO } from './provider-answers';
import { readAnswer } from './read';

const read = (body: unknown, status = 200) => readAnswer({ status, body: JSON.stringify(body) });
const readText = (body: string, status = 200) => readAnswer({ status, body });

const NOTHING: Pick<TracedReading, 'json' | 'taskId' | 'task' | 'serviceMessage'> = {
  json: true,
  task: unknown(),
  serviceMessage: {},
};

describe('the answers of each provider are read', () => {
  it('with twenty providers', () => {
    expect(PROVIDERS).toHaveLength(20);
  });

  it.each(PROVIDERS)('$name: submitted, in progress, finished and failed', ({ taskId, exchanges }) => {
    const readings = exchanges.map(([answer]) => readAnswer(answer));
    expect(readings[0]?.taskId).toBe(taskId);
    expect(readings.map(({ task, serviceMessage }) => ({ task, serviceMessage }))).toEqual(
      exchanges.map(([, task, serviceMessage = {}]) => ({ task, serviceMessage })),
    );
  });
});

describe('the id of a task', () => {
  it("is read from the service interface's own answer", () => {
    expect(read({ task_id: 'abc' })).toEqual({ ...NOTHING, taskId: 'abc' });
  });

  it.each([
    ['an integer', { task_id: 42 }, '42'],
    ['a text with spaces around it', { task_id: ' a b ' }, 'a b'],
    ['a generation id beside the id of the call', { request_id: 'call', data: { generation_id: 'g' } }, 'g'],
    [
      'a task id deep in the answer, before a vague id at its top',
      { id: 'event', data: { task_id: 't' } },
      't',
    ],
    ['at the next path, when the first is empty', { task_id: '', id: 'b' }, 'b'],
  ])('may be %s', (_what, body, taskId) => {
    expect(read(body).taskId).toBe(taskId);
  });

  it.each([0, -1, 1.5, true, null, '', '  ', {}, ['a']])('is never %j', (id) => {
    expect(read({ task_id: id }).taskId).toBeUndefined();
  });

  it('is never longer than an id can be', () => {
    expect(read({ task_id: 'x'.repeat(1000) }).taskId).toHaveLength(1000);
    expect(read({ task_id: 'x'.repeat(1001) }).taskId).toBeUndefined();
  });

  it('has every digit of an integer that is too long for a number', () => {
    const body = String.raw`{"note":"\"id\": 11111111111111111111, ","task_id": 1234567890123456789}`;
    expect(readText(body).taskId).toBe('1234567890123456789');
  });
});

describe('the state of a task', () => {
  const words = {
    queued:
      'queued queueing queuing in_queue pending submitted created waiting wait preparing starting throttled not_start staged accepted',
    running: 'running processing in_progress generating dreaming started rendering',
    succeeded: 'succeeded succeed success completed complete done finished ready ok',
    failed: 'failed fail failure error rejected nsfw moderated content_moderated timeout timed_out expired',
    cancelled: 'cancelled canceled cancel aborted deleted',
    unknown: 'brewing unknown constructor __proto__ toString 5 -1 0.5',
  } satisfies Record<(typeof TASK_STATES)[number], string>;

  it.each(TASK_STATES.flatMap((state) => words[state].split(' ').map((word) => ({ state, word }))))(
    'is $state when the service says "$word"',
    ({ state, word }) => {
      expect(read({ task_id: 'a', status: word }).task).toEqual({ state, word });
    },
  );

  it.each(['in_progress', 'IN-PROGRESS', 'In Progress', 'inProgress', '  in_progress\n'])(
    'is the same however it is written: %j',
    (word) => {
      expect(read({ status: word }).task).toEqual(running(word.trim()));
    },
  );

  it.each([{ status: 5 }, { data: { status: 5 } }, { status: '5' }])(
    'is unknown for a number: %j',
    (body) => {
      expect(read(body).task).toEqual(unknown('5'));
    },
  );

  it.each([
    [{ status: 'success', data: { status: 'processing' } }, running('processing')],
    [{ status: 'ok', data: { task_status: 'failed' } }, failed('failed')],
    [{ status: 'success', data: { status: 'brewing' } }, unknown('brewing')],
    [{ status: 200, data: { status: 'success' } }, succeeded('success')],
    [{ status: true, state: 'queued' }, queued('queued')],
  ])("is the task's, not the envelope's, in %j", (body, task) => {
    expect(read(body).task).toEqual(task);
  });

  it('stays succeeded when an object inside has a word of its own', () => {
    expect(read({ status: 'completed', video_url: VIDEO, result: { state: 'created' } }).task).toEqual(
      succeeded('completed', VIDEO),
    );
  });

  it.each([
    ['has no body', ''],
    ['has no word', '{"id":"a"}'],
    ['has a link', `{"url":"${VIDEO}"}`],
    ['is HTML', '<p>wait</p>'],
  ])('is running in a 202 that %s', (_what, body) => {
    expect(readText(body, 202).task).toEqual(running(''));
  });

  it('is that of the word in a 202 that has one', () => {
    expect(read({ status: 'succeeded' }, 202).task).toEqual(succeeded('succeeded'));
  });

  it.each([400, 404, 429, 500, 503, 302, 0])('is unknown in an answer with HTTP status %d', (status) => {
    expect(read({ status: 'error', message: 'Try later', url: VIDEO }, status)).toEqual({
      ...NOTHING,
      task: unknown('error'),
      serviceMessage: { message: 'Try later' },
    });
  });

  it('is unknown when HTTP 200 has an error that may be about the call', () => {
    expect(read({ error: { code: 'gone', message: 'No such task' } }).task).toEqual(unknown());
    expect(read({ error: { details: [{ why: 'x' }] } }).task).toEqual(unknown());
    expect(read({ error: { message: 'x' }, url: VIDEO }).task).toEqual(unknown());
    for (const word of ['error', 'fail', 'failure', 'timeout', 'timed_out'])
      expect(read({ status: word, message: 'Try later' }).task).toEqual(unknown(word));
  });

  it('is failed when the task is named, when it is done, or when its content was refused', () => {
    expect(read({ id: 'a', status: 'error', error: { message: 'x' } }).task).toEqual(failed('error'));
    expect(read({ done: true, error: { message: 'x' } }).task).toEqual(failed('done: true'));
    expect(read({ error: { code: 'content_policy_violation' } }).task).toEqual(failed(''));
  });

  it('is that of the word when there is an error object too', () => {
    expect(read({ status: 'running', error: { message: 'retrying' } }).task).toEqual(running('running'));
    expect(read({ status: 'brewing', error: { message: 'retrying' } }).task).toEqual(unknown('brewing'));
  });

  it.each([null, {}, 'text', [], { code: 0, message: 'none' }, { code: '', message: '' }, { details: [] }])(
    'is not failed for the error %j alone',
    (error) => {
      expect(read({ error }).task).toEqual(unknown());
    },
  );
});

describe('the progress of a task', () => {
  it.each([
    [0, 0],
    [0.29, 29],
    [0.999, 100],
    [1, 1],
    [33.4, 33],
    [100, 100],
    ['45%', 45],
    ['0.5 %', 1],
    ['0.5', 50],
    [101, undefined],
    [-1, undefined],
    ['soon', undefined],
    [null, undefined],
    ['9'.repeat(30), undefined],
  ])('%j is read as %j percent', (progress, percent) => {
    expect(read({ status: 'running', progress }).task).toEqual(running('running', percent));
  });

  it.each(['progress', 'progress_percent', 'percentage'])('is found at %s', (key) => {
    expect(read({ status: 'queued', data: { [key]: 7 } }).task).toEqual(queued('queued', 7));
  });
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
    { output: { video_url: VIDEO } },
    { output: { videos: [{ url: VIDEO }] } },
    { output: { url: VIDEO } },
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
      expect(read(answer).task).toEqual(succeeded('', VIDEO));
    }
  });

  it.each([
    ['a whole object', { data: JSON.stringify({ status: 'succeeded', video_url: VIDEO }) }, 'succeeded'],
    ['a list', { output: JSON.stringify([VIDEO]) }, ''],
    ['an entry of a list', { videos: [JSON.stringify({ url: VIDEO })] }, ''],
    ['a result', { data: { state: 'success', resultJson: ` {"resultUrls":["${VIDEO}"]}` } }, 'success'],
  ])('is found in JSON in a string: %s', (_what, body, word) => {
    expect(read(body).task).toEqual(succeeded(word, VIDEO));
  });

  it('is the most specific one, and a plain `url` only when there is no other', () => {
    const url = 'https://example.com/page';
    expect(read({ url, data: { outputs: [VIDEO] } }).task).toEqual(succeeded('', VIDEO));
    expect(read({ url, video_url: null }).task).toEqual(succeeded('', url));
  });

  it('is the first http link of a list', () => {
    expect(read({ outputs: [null, '', 'gs://bucket/1.mp4', VIDEO, `${VIDEO}?2`] }).task).toEqual(
      succeeded('', VIDEO),
    );
  });

  it('is searched in the first hundred entries of a list', () => {
    expect(read({ outputs: [...Array(99).fill(''), VIDEO] }).task).toEqual(succeeded('', VIDEO));
    expect(read({ outputs: [...Array(100).fill(''), VIDEO] }).task).toEqual(unknown());
  });

  it('beside an unknown word means succeeded, and the word is returned too', () => {
    expect(read({ status: 'brewed', video_url: VIDEO }).task).toEqual(succeeded('brewed', VIDEO));
  });

  it('is ignored beside a word for another state', () => {
    expect(read({ status: 'running', video_url: VIDEO }).task).toEqual(running('running'));
    expect(read({ done: false, video_url: VIDEO }).task).toEqual(running('done: false'));
    expect(read({ status: 'failed', video_url: VIDEO }).task).toEqual(failed('failed'));
  });

  const skipped =
    'cover cover_url thumbnail thumbnail_url watermark watermark_url last_frame_url polling_url';
  it.each(skipped.split(' '))('is never taken from %s', (key) => {
    const other = { [key]: 'https://cdn.example.com/other' };
    const holders = { content: other, video: other, videos: [other], assets: other, output: other };
    expect(read({ status: 'completed', ...other, ...holders, data: holders }).task).toEqual(
      succeeded('completed'),
    );
  });

  it.each([
    'ftp://example.com/1.mp4',
    'file:///etc/passwd',
    'data:video/mp4;base64,AAAA',
    'javascript:alert(1)',
    '/',
    '/\\\\cdn.example.com/1.mp4',
    'v/1.mp4',
    '//cdn.example.com/1.mp4',
    'https:cdn.example.com',
    'https://',
    'http://[bad',
    7,
    { href: VIDEO },
  ])('is never %j', (video_url) => {
    expect(read({ status: 'completed', video_url }).task).toEqual(succeeded('completed'));
  });

  it('is never longer than an address can be', () => {
    expect(read({ video_url: `${VIDEO}?${'a'.repeat(16_000)}` }).task).toEqual(unknown());
  });
});

describe("the service's own code and message", () => {
  it.each([
    [
      { error: { code: 'c', type: 't', message: 'm' }, code: 'x', message: 'y' },
      { code: 'c', message: 'm' },
    ],
    [{ error: { code: null, type: 't', message: 'm' } }, { code: 't', message: 'm' }],
    [{ error: 'why' }, { message: 'why' }],
    [
      { code: 1102, msg: 'No balance' },
      { code: '1102', message: 'No balance' },
    ],
    [{ detail: 'Not found' }, { message: 'Not found' }],
    [{ error: JSON.stringify({ code: 'c', message: 'm' }) }, { code: 'c', message: 'm' }],
    [{ code: 0, message: 'all is well', data: { failMsg: 'Refused' } }, { message: 'Refused' }],
  ])('are read from %j', (body, serviceMessage) => {
    expect(read(body, 400).serviceMessage).toEqual(serviceMessage);
  });

  it.each([0, 200, '0', '200', 'success', 'SUCCESS', 'Succeed', 'ok'])(
    'have no code when it is %j',
    (code) => {
      const said = { message: 'All is well' };
      expect(read({ code, ...said }).serviceMessage).toEqual(said);
      expect(read({ error: { code, ...said } }).serviceMessage).toEqual(said);
      const wrapped = { base_resp: { status_code: code, status_msg: 'All is well' } };
      expect(read(wrapped).serviceMessage).toEqual(said);
    },
  );

  it('are absent when the message is only "success"', () => {
    expect(read({ message: 'Success' }).serviceMessage).toEqual({});
  });

  it('are never empty', () => {
    expect(read({ code: '', message: ' ', error: '', detail: [{ msg: '' }, {}] }).serviceMessage).toEqual({});
  });

  it('are cut when they would fill a log', () => {
    const { serviceMessage, task } = read({
      status: 'w'.repeat(9e5),
      code: 'c'.repeat(9e5),
      message: 'm'.repeat(9e5),
    });
    expect(task.word).toHaveLength(100);
    expect(serviceMessage.code).toHaveLength(100);
    expect(serviceMessage.message).toHaveLength(1000);
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
    'true',
    '{"task_id":',
    '{]',
  ])('that is not a JSON object or list says nothing: %j', (body) => {
    expect(readText(body)).toEqual({ ...NOTHING, json: false });
  });

  it.each([[[]], [{}], [[{ task_id: 'a', status: 'failed', url: VIDEO }]], [{ data: [{ task_id: 'a' }] }]])(
    'that is JSON but not about one task says nothing: %j',
    (body) => {
      expect(read(body)).toEqual(NOTHING);
    },
  );

  it('may begin with a byte order mark', () => {
    expect(readText('\uFEFF{"task_id":"a"}').taskId).toBe('a');
  });

  it('cannot reach the prototypes', () => {
    const evil =
      '{"__proto__":{"task_id":"evil","status":"failed"},"constructor":{"name":"evil"},"data":{"__proto__":{"id":"evil"}}}';
    expect(readText(evil)).toEqual(NOTHING);
  });

  it('is not mixed with properties of Object.prototype', () => {
    Object.defineProperty(Object.prototype, 'task_id', { value: 'evil', configurable: true });
    try {
      expect(read({}).taskId).toBeUndefined();
    } finally {
      Reflect.deleteProperty(Object.prototype, 'task_id');
    }
  });

  it('is read at other paths when the rules have others', () => {
    const paths = { ...DEFAULT_RULES.paths, within: ['Resp'], taskId: ['video_id'] };
    const rules = { ...DEFAULT_RULES, paths };
    expect(readAnswer({ status: 200, body: '{"Resp":{"video_id":42}}' }, rules).taskId).toBe('42');
  });

  it('may have a value of any type at any path', () => {
    const kinds: unknown[] = JSON.parse(
      '[null,true,0,-1,1.5,"","{","[","{}","[]","[[","x",[],{},[[]],[null],{"url":{}}]',
    );
    const keys = 'data task output result error status done progress video videos code message detail id';
    for (const kind of kinds) {
      const flat = Object.fromEntries(keys.split(' ').map((key) => [key, kind]));
      for (const body of [flat, { data: flat }, { output: [flat] }, { data: JSON.stringify(flat) }]) {
        expect(TASK_STATES).toContain(read(body).task.state);
      }
    }
  });

  it.each([
    ['nested a million deep', `{"task_id":"a","output":${'['.repeat(1e6)}${']'.repeat(1e6)}}`],
    ['a list of a million entries', `{"task_id":"a","videos":[${'{},'.repeat(1e6)}{}]}`],
    ['one string of megabytes', `{"task_id":"a","n":1234567890123456789,"output":"${'\\"'.repeat(2e6)}"}`],
    [
      'numbers beyond any number',
      `{"task_id":1e999,"id":"a","error":{"code":1e999},"progress":${'9'.repeat(5e3)}}`,
    ],
  ])('is still read when it is %s', (_what, body) => {
    expect(readText(body)).toEqual({ ...NOTHING, taskId: 'a' });
  });

  it.each([undefined, null, 7, {}])('may have the body %j, from a caller in JavaScript', (body) => {
    expect(readAnswer({ status: 200, body: body as unknown as string })).toEqual({ ...NOTHING, json: false });
  });
});

describe('a traced reading', () => {
  const trace = (body: unknown) => traceAnswer({ status: 200, body: JSON.stringify(body) });

  it('has the path of each value', () => {
    const { found, doubts } = trace({
      code: 7,
      data: {
        task_id: 't',
        task_status: 'processing',
        progress: 5,
        task_result: { videos: [{}, { url: VIDEO }] },
      },
      message: 'Busy',
    });
    expect(found).toEqual({
      taskId: 'data.task_id',
      state: 'data.task_status',
      progress: 'data.progress',
      video: 'data.task_result.videos[1].url',
      code: 'code',
      message: 'message',
    });
    expect(doubts).toEqual([]);
  });

  it('has how long the service asks us to wait, from the headers', () => {
    const headers = { 'retry-after': '7' };
    expect(traceAnswer({ status: 200, headers, body: '{}' }).retryAfterMs).toBe(7_000);
    expect(trace({}).retryAfterMs).toBeUndefined();
  });

  it('has paths inside JSON in a string, and of a boolean', () => {
    expect(trace({ data: { resultJson: JSON.stringify({ resultUrls: [VIDEO] }) } }).found).toEqual({
      video: 'data.resultJson.resultUrls[0]',
    });
    expect(trace({ done: true }).found).toEqual({ state: 'done' });
  });

  it.each([
    [{ task_id: 'a', data: { task_id: 'b' } }, 'task_id is a and data.task_id is b'],
    [{ taskId: 'a', data: { task_id: 'b' } }, 'data.task_id is b and taskId is a'],
    [
      { status: 'succeeded', error: { message: 'x' } },
      'status says succeeded, and there is an error at error',
    ],
    [{ done: true, url: VIDEO, data: { status: 'completed', error: { code: 5 } } }, 'an error at data.error'],
  ])('has a doubt about %j', (body, doubt) => {
    expect(trace(body).doubts).toEqual([expect.stringContaining(doubt)]);
  });

  it.each([
    [{ task_id: 'a', data: { task_id: 'a' } }],
    [{ request_id: 'call', data: { task_id: 'b' } }],
    [{ id: 'event', task_id: 'b' }],
    [{ status: 'succeeded', error: null }],
    [{ status: 'succeeded', error: { code: 0, message: '' } }],
  ])('has no doubt about %j', (body) => {
    expect(trace(body).doubts).toEqual([]);
  });
});

describe('a link that begins with a slash', () => {
  const body = JSON.stringify({ status: 'completed', video_url: '/v/1.mp4?s=1' });

  it('is relative to the service', () => {
    expect(readAnswer({ status: 200, body, baseUrl: 'https://api.example.com/video/' }).task).toEqual(
      succeeded('completed', 'https://api.example.com/v/1.mp4?s=1'),
    );
  });

  it('stays as it is without the address of the service', () => {
    expect(readAnswer({ status: 200, body }).task).toEqual(succeeded('completed', '/v/1.mp4?s=1'));
  });
});
