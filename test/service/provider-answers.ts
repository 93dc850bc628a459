import type { HttpAnswer, TracedReading } from '../../src/service/read-answer';
import type { VideoState } from '../../src/service/video-service';

export const VIDEO = 'https://cdn.example.com/v/1.mp4';

export const queued = (word: string, percent?: number): VideoState => ({ state: 'queued', word, percent });
export const running = (word: string, percent?: number): VideoState => ({ state: 'running', word, percent });
export const succeeded = (word: string, videoUrl?: string): VideoState => ({
  state: 'succeeded',
  word,
  videoUrl,
});
export const failed = (word: string): VideoState => ({ state: 'failed', word });
export const unknown = (word = ''): VideoState => ({ state: 'unknown', word });

/** An answer and what is read from it. HTTP 200 unless made by `http`. */
type Exchange<Answer> = [answer: Answer, task: VideoState, serviceMessage?: TracedReading['serviceMessage']];
type Exchanges<Answer> = [
  submitted: Exchange<Answer>,
  inProgress: Exchange<Answer>,
  finished: Exchange<Answer>,
  broken: Exchange<Answer>,
];

class Http {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {}
}
const http = (status: number, body: unknown) => new Http(status, body === '' ? '' : JSON.stringify(body));

const provider = (name: string, taskId: string | undefined, exchanges: Exchanges<object>) => ({
  name,
  taskId,
  exchanges: exchanges.map(
    ([answer, task, serviceMessage]): Exchange<HttpAnswer> => [
      answer instanceof Http ? answer : http(200, answer),
      task,
      serviceMessage,
    ],
  ),
});

const KLING_OK = { code: 0, message: 'SUCCEED', request_id: 'req-1' };
const KIE_OK = { code: 200, msg: 'success' };
const WAVESPEED_OK = { code: 200, message: 'success' };
const MINIMAX_OK = { base_resp: { status_code: 0, status_msg: 'success' } };
const VEO = 'models/veo-3.1-generate-preview/operations/abc123';

export const PROVIDERS = [
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
  provider('Higgsfield, whose path of the video is unknown', 'hf-1', [
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
