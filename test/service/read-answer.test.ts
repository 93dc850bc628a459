import { TASK_STATES } from '../../src/contract/task-state';
import { DEFAULT_PLACES } from '../../src/service/places';
import { type AnswerReading, readAnswer, type VideoState } from '../../src/service/read-answer';

const VIDEO = 'https://cdn.example.com/v/1.mp4';
const read = (body: unknown, status = 200) => readAnswer({ status, body: JSON.stringify(body) });
const readText = (body: string, status = 200) => readAnswer({ status, body });

const queued = (word: string, percent?: number): VideoState => ({ state: 'queued', word, percent });
const running = (word: string, percent?: number): VideoState => ({ state: 'running', word, percent });
const succeeded = (word: string, videoUrl?: string): VideoState => ({ state: 'succeeded', word, videoUrl });
const failed = (word: string): VideoState => ({ state: 'failed', word });
const unknown = (word = ''): VideoState => ({ state: 'unknown', word });
const NOTHING: AnswerReading = { json: true, task: unknown(), said: {} };

/** An answer, what is read of the task, and what the service is understood to say. HTTP 200 unless `http` tells. */
type Exchange = [body: object, task: VideoState, said?: AnswerReading['said']];
type Exchanges = [submitted: Exchange, inProgress: Exchange, finished: Exchange, broken: Exchange];

const provider = (name: string, taskId: string | undefined, exchanges: Exchanges) => ({
  name,
  taskId,
  exchanges,
});

class Http {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {}
}
const http = (status: number, body: unknown) => new Http(status, body === '' ? '' : JSON.stringify(body));

const KLING_OK = { code: 0, message: 'SUCCEED', request_id: 'req-1' };
const KIE_OK = { code: 200, msg: 'success' };
const WAVESPEED_OK = { code: 200, message: 'success' };
const MINIMAX_OK = { base_resp: { status_code: 0, status_msg: 'success' } };
const VEO = 'models/veo-3.1-generate-preview/operations/abc123';

const PROVIDERS = [
  provider('BytePlus Ark (Seedance)', 'cgt-1', [
    [{ id: 'cgt-1' }, unknown()],
    [{ id: 'cgt-1', status: 'running' }, running('running')],
    [
      {
        id: 'cgt-1',
        status: 'succeeded',
        content: { last_frame_url: 'https://cdn.example.com/last.png', video_url: VIDEO },
      },
      succeeded('succeeded', VIDEO),
    ],
    [
      { id: 'cgt-1', status: 'failed', error: { code: 'Sensitive', message: 'Refused.' } },
      failed('failed'),
      { code: 'Sensitive', message: 'Refused.' },
    ],
  ]),
  provider('Runway', 'rw-1', [
    [{ id: 'rw-1' }, unknown()],
    [{ id: 'rw-1', status: 'RUNNING', progress: 0.42 }, running('RUNNING', 42)],
    [{ id: 'rw-1', status: 'SUCCEEDED', output: [VIDEO] }, succeeded('SUCCEEDED', VIDEO)],
    [
      { id: 'rw-1', status: 'FAILED', failure: 'Bad input.', failureCode: 'SAFETY.INPUT.TEXT' },
      failed('FAILED'),
      { code: 'SAFETY.INPUT.TEXT', message: 'Bad input.' },
    ],
  ]),
  provider('fal', 'fal-1', [
    [
      {
        status: 'IN_QUEUE',
        request_id: 'fal-1',
        response_url: 'https://q.example.com/1',
        status_url: 'https://q.example.com/1/status',
        queue_position: 3,
      },
      queued('IN_QUEUE'),
    ],
    [{ status: 'IN_PROGRESS', logs: [] }, running('IN_PROGRESS')],
    [{ video: { url: VIDEO, content_type: 'video/mp4' } }, succeeded('', VIDEO)],
    [
      http(422, { detail: [{ loc: ['body', 'image_url'], msg: 'No image', type: 'image_load' }] }),
      unknown(),
      { message: 'No image' },
    ],
  ]),
  provider('Replicate', 'rp1', [
    [
      http(201, { id: 'rp1', status: 'starting', urls: { get: 'https://api.example.com/rp1' }, error: null }),
      queued('starting'),
    ],
    [{ id: 'rp1', status: 'processing' }, running('processing')],
    [{ id: 'rp1', status: 'succeeded', output: VIDEO, error: null }, succeeded('succeeded', VIDEO)],
    [
      { id: 'rp1', status: 'failed', output: null, error: 'CUDA out of memory' },
      failed('failed'),
      { message: 'CUDA out of memory' },
    ],
  ]),
  provider('OpenAI videos, whose video is behind a call of its own', 'video_1', [
    [{ id: 'video_1', object: 'video', status: 'queued', progress: 0 }, queued('queued', 0)],
    [{ id: 'video_1', status: 'in_progress', progress: 33 }, running('in_progress', 33)],
    [{ id: 'video_1', status: 'completed', progress: 100, expires_at: 1763200000 }, succeeded('completed')],
    [
      { id: 'video_1', status: 'failed', error: { code: 'moderation', message: 'Blocked.' } },
      failed('failed'),
      { code: 'moderation', message: 'Blocked.' },
    ],
  ]),
  provider('Google Veo', VEO, [
    [{ name: VEO }, unknown()],
    [{ name: VEO, done: false }, running('done: false')],
    [
      { name: VEO, done: true, response: { generatedVideos: [{ video: { uri: VIDEO } }] } },
      succeeded('done: true', VIDEO),
    ],
    [
      { name: VEO, done: true, error: { code: 3, message: 'Unsafe prompt.' } },
      failed('done: true'),
      { code: '3', message: 'Unsafe prompt.' },
    ],
  ]),
  provider('Luma', 'lu-1', [
    [http(201, { id: 'lu-1', state: 'queued' }), queued('queued')],
    [{ id: 'lu-1', state: 'dreaming' }, running('dreaming')],
    [
      {
        id: 'lu-1',
        state: 'completed',
        failure_reason: null,
        assets: { image: 'https://cdn.example.com/first.jpg', video: VIDEO },
      },
      succeeded('completed', VIDEO),
    ],
    [
      { id: 'lu-1', state: 'failed', failure_reason: 'Prompt not allowed', assets: null },
      failed('failed'),
      { message: 'Prompt not allowed' },
    ],
  ]),
  provider('Kling', 'kl-1', [
    [{ ...KLING_OK, data: { task_id: 'kl-1', task_status: 'submitted' } }, queued('submitted')],
    [
      { ...KLING_OK, data: { task_id: 'kl-1', task_status: 'processing', task_status_msg: '' } },
      running('processing'),
    ],
    [
      {
        ...KLING_OK,
        data: {
          task_id: 'kl-1',
          task_status: 'succeed',
          task_result: { videos: [{ id: 'v', url: VIDEO, duration: '5' }] },
        },
      },
      succeeded('succeed', VIDEO),
    ],
    [
      { ...KLING_OK, data: { task_id: 'kl-1', task_status: 'failed', task_status_msg: 'Risk control' } },
      failed('failed'),
      { message: 'Risk control' },
    ],
  ]),
  provider('MiniMax v1, whose video is behind a file id', '1069', [
    [{ task_id: '1069', ...MINIMAX_OK }, unknown()],
    [{ task_id: '1069', status: 'Preparing', file_id: '', ...MINIMAX_OK }, queued('Preparing')],
    [{ task_id: '1069', status: 'Success', file_id: '1768', ...MINIMAX_OK }, succeeded('Success')],
    [
      { task_id: '1069', status: 'Fail', base_resp: { status_code: 1026, status_msg: 'sensitive input' } },
      failed('Fail'),
      { code: '1026', message: 'sensitive input' },
    ],
  ]),
  provider('MiniMax v2', 'mm-2', [
    [{ task_id: 'mm-2' }, unknown()],
    [{ task: { id: 'mm-2', status: 'running' } }, running('running')],
    [{ task: { id: 'mm-2', status: 'succeeded', content: { url: VIDEO } } }, succeeded('succeeded', VIDEO)],
    [
      { task: { id: 'mm-2', status: 'expired', error: { code: 'timeout', message: 'Took too long' } } },
      failed('expired'),
      { code: 'timeout', message: 'Took too long' },
    ],
  ]),
  provider('Vidu', 'vi-1', [
    [{ task_id: 'vi-1', state: 'created' }, queued('created')],
    [{ id: 'vi-1', state: 'processing' }, running('processing')],
    [
      {
        id: 'vi-1',
        state: 'success',
        err_code: '',
        creations: [{ id: 'c', cover_url: 'https://cdn.example.com/cover.jpg', url: VIDEO }],
      },
      succeeded('success', VIDEO),
    ],
    [
      { id: 'vi-1', state: 'failed', err_code: 'AuditSubmitIllegal', creations: [] },
      failed('failed'),
      { code: 'AuditSubmitIllegal' },
    ],
  ]),
  provider('DashScope', 'ds-1', [
    [{ request_id: 'req-1', output: { task_id: 'ds-1', task_status: 'PENDING' } }, queued('PENDING')],
    [{ request_id: 'req-2', output: { task_id: 'ds-1', task_status: 'RUNNING' } }, running('RUNNING')],
    [
      { request_id: 'req-3', output: { task_id: 'ds-1', task_status: 'SUCCEEDED', video_url: VIDEO } },
      succeeded('SUCCEEDED', VIDEO),
    ],
    [
      {
        request_id: 'req-4',
        output: { task_id: 'ds-1', task_status: 'FAILED', code: 'DataInspectionFailed', message: 'Unsafe.' },
      },
      failed('FAILED'),
      { code: 'DataInspectionFailed', message: 'Unsafe.' },
    ],
  ]),
  provider('xAI', 'x-1', [
    [{ request_id: 'x-1' }, unknown()],
    [http(202, ''), running('')],
    [{ status: 'done', video: { url: VIDEO, duration: 6 } }, succeeded('done', VIDEO)],
    [
      { status: 'failed', error: { code: 'invalid_argument', message: 'No.' } },
      failed('failed'),
      { code: 'invalid_argument', message: 'No.' },
    ],
  ]),
  provider('WaveSpeed', 'ws-1', [
    [{ ...WAVESPEED_OK, data: { id: 'ws-1', status: 'created', outputs: [] } }, queued('created')],
    [{ ...WAVESPEED_OK, data: { id: 'ws-1', status: 'processing', error: '' } }, running('processing')],
    [
      { ...WAVESPEED_OK, data: { id: 'ws-1', status: 'completed', outputs: [VIDEO], error: '' } },
      succeeded('completed', VIDEO),
    ],
    [
      { ...WAVESPEED_OK, data: { id: 'ws-1', status: 'failed', outputs: [], error: 'Flagged' } },
      failed('failed'),
      { message: 'Flagged' },
    ],
  ]),
  provider('Kie', 'kie-1', [
    [{ ...KIE_OK, data: { taskId: 'kie-1' } }, unknown()],
    [
      { ...KIE_OK, data: { taskId: 'kie-1', state: 'generating', resultJson: '', failCode: null } },
      running('generating'),
    ],
    [
      {
        ...KIE_OK,
        data: {
          taskId: 'kie-1',
          state: 'success',
          param: '{"input":{"image_url":"https://cdn.example.com/in.png"}}',
          resultJson: JSON.stringify({ resultUrls: [VIDEO] }),
        },
      },
      succeeded('success', VIDEO),
    ],
    [
      { ...KIE_OK, data: { taskId: 'kie-1', state: 'fail', failCode: '501', failMsg: 'Model refused' } },
      failed('fail'),
      { code: '501', message: 'Model refused' },
    ],
  ]),
  provider('PixVerse, whose numbers need configuration', undefined, [
    [{ ErrCode: 0, ErrMsg: 'success', Resp: { video_id: 42 } }, unknown()],
    [{ ErrCode: 0, ErrMsg: 'success', Resp: { id: 42, status: 5 } }, unknown()],
    [{ ErrCode: 0, ErrMsg: 'success', Resp: { id: 42, status: 1 } }, unknown()],
    [
      { ErrCode: 500044, ErrMsg: 'Reached the limit', Resp: null },
      unknown(),
      { code: '500044', message: 'Reached the limit' },
    ],
  ]),
  provider('new-api gateways', 'na-1', [
    [{ task_id: 'na-1', status: 'queued' }, queued('queued')],
    [
      { code: 'success', message: '', data: { task_id: 'na-1', status: 'IN_PROGRESS', progress: '30%' } },
      running('IN_PROGRESS', 30),
    ],
    [
      { task_id: 'na-1', status: 'completed', url: VIDEO, error: { code: 0, message: '' } },
      succeeded('completed', VIDEO),
    ],
    [
      { task_id: 'na-1', status: 'failed', error: { code: 'bad_prompt', message: 'Upstream refused' } },
      failed('failed'),
      { code: 'bad_prompt', message: 'Upstream refused' },
    ],
  ]),
  provider('Evolink', 'ev-1', [
    [{ id: 'ev-1', status: 'pending', progress: 0 }, queued('pending', 0)],
    [{ id: 'ev-1', status: 'processing', progress: 60 }, running('processing', 60)],
    [{ id: 'ev-1', status: 'completed', progress: 100, results: [VIDEO] }, succeeded('completed', VIDEO)],
    [
      { id: 'ev-1', status: 'failed', error: { code: 'content_policy', message: 'Refused' } },
      failed('failed'),
      { code: 'content_policy', message: 'Refused' },
    ],
  ]),
  provider('Higgsfield, whose place of the video is not known', 'hf-1', [
    [{ request_id: 'hf-1', status: 'queued' }, queued('queued')],
    [{ request_id: 'hf-1', status: 'in_progress' }, running('in_progress')],
    [{ request_id: 'hf-1', status: 'completed' }, succeeded('completed')],
    [{ request_id: 'hf-1', status: 'nsfw' }, failed('nsfw')],
  ]),
  provider('Inworld', 'iw-1', [
    [{ id: 'iw-1', status: 'queued' }, queued('queued')],
    [{ id: 'iw-1', status: 'in_progress' }, running('in_progress')],
    [
      { id: 'iw-1', status: 'completed', output: { videos: [{ url: VIDEO }] } },
      succeeded('completed', VIDEO),
    ],
    [
      http(400, { code: 3, message: 'Unknown voice', details: [] }),
      unknown(),
      { code: '3', message: 'Unknown voice' },
    ],
  ]),
];

describe('the answers of each provider are understood', () => {
  it('covers the twenty of the survey', () => {
    expect(PROVIDERS).toHaveLength(20);
  });

  it.each(PROVIDERS)(
    '$name: submitted, in progress, finished and broken are each read',
    ({ taskId, exchanges }) => {
      const readings = exchanges.map(([body]) => readAnswer(body instanceof Http ? body : http(200, body)));
      expect(readings[0]?.taskId).toBe(taskId);
      expect(readings.map(({ task, said }) => ({ task, said }))).toEqual(
        exchanges.map(([, task, said = {}]) => ({ task, said })),
      );
    },
  );
});

describe('the id of a task', () => {
  it("is read from the service interface's own answer", () => {
    expect(read({ task_id: 'abc' })).toEqual({ ...NOTHING, taskId: 'abc' });
  });

  it.each([
    ['an integer', { task_id: 42 }, '42'],
    ['a text with spaces around it', { task_id: ' a b ' }, 'a b'],
    ['a generation id beside the id of the call', { request_id: 'call', data: { generation_id: 'g' } }, 'g'],
    ['a task id deep down, before a vague id above', { id: 'event', data: { task_id: 't' } }, 't'],
    ['the next place, when the first is empty', { task_id: '', id: 'b' }, 'b'],
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

  it('keeps every digit of an integer that a number cannot hold', () => {
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
      expect(read({ status: word }).task).toEqual({ state, word });
    },
  );

  it.each(['in_progress', 'IN-PROGRESS', 'In Progress', 'inProgress', '  in_progress\n'])(
    'does not depend on how %j is written',
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
  ])("is the task's and not the envelope's in %j", (body, task) => {
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
    ['points somewhere', `{"url":"${VIDEO}"}`],
    ['is HTML', '<p>wait</p>'],
  ])('is running in a 202 that %s', (_what, body) => {
    expect(readText(body, 202).task).toEqual(running(''));
  });

  it('is what the word says in a 202 that has one', () => {
    expect(read({ status: 'succeeded' }, 202).task).toEqual(succeeded('succeeded'));
  });

  it.each([400, 404, 429, 500, 503, 302, 0])('is not told by an answer with HTTP status %d', (status) => {
    expect(read({ status: 'error', message: 'Try later', url: VIDEO }, status)).toEqual({
      ...NOTHING,
      task: unknown('error'),
      said: { message: 'Try later' },
    });
  });

  it('is failed when HTTP 200 carries an error object and no word', () => {
    expect(read({ error: { code: 'gone', message: 'No such task' } }).task).toEqual(failed(''));
    expect(read({ error: { details: [{ why: 'x' }] } }).task).toEqual(failed(''));
    expect(read({ error: { message: 'x' }, url: VIDEO }).task).toEqual(failed(''));
  });

  it('is what the word says when an error object stands beside it', () => {
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
  ])('is found when JSON in a string holds %s', (_what, body, word) => {
    expect(read(body).task).toEqual(succeeded(word, VIDEO));
  });

  it('is the most telling one, and the plain url only when there is no other', () => {
    const url = 'https://example.com/page';
    expect(read({ url, data: { outputs: [VIDEO] } }).task).toEqual(succeeded('', VIDEO));
    expect(read({ url, video_url: null }).task).toEqual(succeeded('', url));
  });

  it('is the first of a list that can be fetched', () => {
    expect(read({ outputs: [null, '', 'gs://bucket/1.mp4', VIDEO, `${VIDEO}?2`] }).task).toEqual(
      succeeded('', VIDEO),
    );
  });

  it('is looked for in the first hundred entries of a list', () => {
    expect(read({ outputs: [...Array(99).fill(''), VIDEO] }).task).toEqual(succeeded('', VIDEO));
    expect(read({ outputs: [...Array(100).fill(''), VIDEO] }).task).toEqual(unknown());
  });

  it('beside a word that is not known means succeeded, and the word is kept', () => {
    expect(read({ status: 'brewed', video_url: VIDEO }).task).toEqual(succeeded('brewed', VIDEO));
  });

  it('beside a word that says otherwise is not a video', () => {
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
    '/v/1.mp4',
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

describe("the service's own words for an error", () => {
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
  ])('are read from %j', (body, said) => {
    expect(read(body, 400).said).toEqual(said);
  });

  it.each([0, 200, '0', '200', 'success', 'SUCCESS', 'Succeed', 'ok'])(
    'are none when the code is %j, and the message beside it is none either',
    (code) => {
      expect(read({ code, message: 'All is well' }).said).toEqual({});
      expect(read({ error: { code, message: 'All is well' } }).said).toEqual({});
      expect(read({ base_resp: { status_code: code, status_msg: 'All is well' } }).said).toEqual({});
    },
  );

  it('are none when the message is only "success", with no code beside it', () => {
    expect(read({ message: 'Success' }).said).toEqual({});
  });

  it('are never empty', () => {
    expect(read({ code: '', message: ' ', error: '', detail: [{ msg: '' }, {}] }).said).toEqual({});
  });

  it('are cut when they would fill a log', () => {
    const { said, task } = read({ status: 'w'.repeat(9e5), code: 'c'.repeat(9e5), message: 'm'.repeat(9e5) });
    expect(task.word).toHaveLength(100);
    expect(said.code).toHaveLength(100);
    expect(said.message).toHaveLength(1000);
  });
});

describe('an answer that is not what it should be', () => {
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
  ])('is no JSON and says nothing: %j', (body) => {
    expect(readText(body)).toEqual({ ...NOTHING, json: false });
  });

  it.each([[[]], [{}], [[{ task_id: 'a', status: 'failed', url: VIDEO }]], [{ data: [{ task_id: 'a' }] }]])(
    'is JSON and says nothing of one task: %j',
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

  it('is not mixed with what another library left on the prototype of all objects', () => {
    Object.defineProperty(Object.prototype, 'task_id', { value: 'evil', configurable: true });
    try {
      expect(read({}).taskId).toBeUndefined();
    } finally {
      Reflect.deleteProperty(Object.prototype, 'task_id');
    }
  });

  it('is read at other places when other places are given', () => {
    const places = { ...DEFAULT_PLACES, within: ['Resp'], taskId: ['video_id'] };
    expect(readAnswer({ status: 200, body: '{"Resp":{"video_id":42}}' }, places).taskId).toBe('42');
  });

  it('may hold a value of any kind at any place', () => {
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
  ])('is read in good time when it is %s', (_what, body) => {
    const started = performance.now();
    expect(readText(body)).toEqual({ ...NOTHING, taskId: 'a' });
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it.each([undefined, null, 7, {}])('may have %j for a body, if a caller in JavaScript gives it', (body) => {
    expect(readAnswer({ status: 200, body: body as unknown as string })).toEqual({ ...NOTHING, json: false });
  });
});
