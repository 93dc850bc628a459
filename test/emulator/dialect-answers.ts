import type { DialectName } from '../../src/testing/emulator';

/** The answers that clients of one kind of service expect. Further fields do not matter to them. */
export interface DialectAnswers {
  id: RegExp;
  /** Path of the task id in the answer to a submit. */
  idAt: string;
  submitStatus?: number;
  submitted: (id: string) => object;
  queued: Expected;
  running: Expected;
  succeeded: Expected;
  /** Path of the link in it, if it has one. */
  videoAt?: string;
  /** Paths of links beside it that lead elsewhere. */
  decoysAt?: string[];
  failed: Expected;
  cancelled: Expected;
  /** Each with the service's own HTTP status. */
  refusals: Record<
    'badRequest' | 'unauthorized' | 'notFound' | 'tooMany',
    [status: number, body: (message: unknown) => unknown]
  >;
}

/** A body with HTTP 200, or a status and a body. */
type Expected = (id: string) => object | [status: number, body: object | ''];

/** The error of the task that fails in the tests. */
export const FAILURE = { code: 'bad_prompt', message: 'Not this.' };
const CANCELLED = { code: 'cancelled', message: 'the task was cancelled' };

type Words = [queued: unknown, running: unknown, succeeded: unknown, failed: unknown, cancelled?: unknown];

const refusals = (
  body: (status: number, message: unknown) => unknown,
  statuses: Partial<Record<'badRequest' | 'unauthorized' | 'notFound' | 'tooMany', number>> = {},
): DialectAnswers['refusals'] => ({
  badRequest: [statuses.badRequest ?? 400, (message) => body(400, message)],
  unauthorized: [statuses.unauthorized ?? 401, (message) => body(401, message)],
  notFound: [statuses.notFound ?? 404, (message) => body(404, message)],
  tooMany: [statuses.tooMany ?? 429, (message) => body(429, message)],
});
const UNDER_200 = { badRequest: 200, unauthorized: 200, notFound: 200, tooMany: 200 };
const CODES: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  429: 'concurrency_limit',
};
const nested = refusals((status, message) => ({ error: { code: CODES[status], message } }));

/** All answers to polls of a service in which only the word and one field differ. */
function pollAnswers(
  [queued, running, succeeded, failed, cancelled]: Words,
  bodyOf: (word: unknown, id: string, more: object) => object,
  errorOf: (error: { code: string; message: string }) => object,
  progress: { queued?: object; running?: object } = {},
) {
  return {
    queued: (id: string) => bodyOf(queued, id, progress.queued ?? {}),
    running: (id: string) => bodyOf(running, id, progress.running ?? {}),
    succeeded: (id: string) => bodyOf(succeeded, id, {}),
    failed: (id: string) => bodyOf(failed, id, errorOf(FAILURE)),
    cancelled: (id: string) =>
      cancelled === undefined ? bodyOf(failed, id, errorOf(CANCELLED)) : bodyOf(cancelled, id, {}),
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const HEX = /^[0-9a-f]{32}$/;
const DIGITS = /^\d{18}$/;
const ARK_WORDS: Words = ['queued', 'running', 'succeeded', 'failed', 'cancelled'];
const KLING_OK = { code: 0, message: 'SUCCEED', request_id: expect.any(String) };
const MINIMAX_OK = { status_code: 0, status_msg: 'success' };
const PIXVERSE_OK = { ErrCode: 0, ErrMsg: 'success' };

export const ANSWERS: Record<DialectName, DialectAnswers> = {
  default: {
    id: /^task_/,
    idAt: 'task_id',
    submitted: (id) => ({ task_id: id, status: 'queued' }),
    ...pollAnswers(
      ARK_WORDS,
      (status, id, more) => ({ task_id: id, status, ...more }),
      (error) => ({ error }),
      {
        queued: { progress: 0 },
        running: { progress: 42 },
      },
    ),
    videoAt: 'video_url',
    refusals: nested,
  },
  ark: {
    id: /^cgt-/,
    idAt: 'id',
    submitted: (id) => ({ id }),
    ...pollAnswers(
      ARK_WORDS,
      (status, id, more) => ({ id, status, ...more }),
      (error) => ({ error }),
    ),
    videoAt: 'content.video_url',
    decoysAt: ['content.last_frame_url'],
    refusals: nested,
  },
  runway: {
    id: UUID,
    idAt: 'id',
    submitted: (id) => ({ id }),
    ...pollAnswers(
      ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'],
      (status, id, more) => ({ id, status, ...more }),
      ({ code, message }) => ({ failure: message, failureCode: code }),
      { running: { progress: 0.42 } },
    ),
    videoAt: 'output.0',
    refusals: refusals((_, message) => ({ error: message })),
  },
  fal: {
    id: UUID,
    idAt: 'request_id',
    submitted: (id) => ({ request_id: id, status: 'IN_QUEUE', queue_position: 0 }),
    queued: () => ({ status: 'IN_QUEUE', queue_position: 0 }),
    running: () => ({ status: 'IN_PROGRESS' }),
    succeeded: () => ({ status: 'COMPLETED', video: { content_type: 'video/mp4' } }),
    failed: () => [422, { detail: [{ msg: FAILURE.message, type: FAILURE.code }] }],
    cancelled: () => [422, { detail: [{ msg: CANCELLED.message, type: CANCELLED.code }] }],
    videoAt: 'video.url',
    refusals: refusals(
      (status, message) => ({ detail: status === 400 ? [{ loc: ['body'], msg: message }] : message }),
      { badRequest: 422 },
    ),
  },
  replicate: {
    id: /^[0-9a-f]{26}$/,
    idAt: 'id',
    submitStatus: 201,
    submitted: (id) => ({ id, status: 'starting', output: null, error: null }),
    ...pollAnswers(
      ['starting', 'processing', 'succeeded', 'failed', 'canceled'],
      (status, id, more) => ({ id, status, error: null, ...more }),
      ({ message }) => ({ error: message, output: null }),
    ),
    videoAt: 'output',
    refusals: refusals((status, message) => ({ title: CODES[status], detail: message, status })),
  },
  openai: {
    id: /^video_[0-9a-f]{32}$/,
    idAt: 'id',
    submitted: (id) => ({ id, object: 'video', status: 'queued', progress: 0 }),
    ...pollAnswers(
      ['queued', 'in_progress', 'completed', 'failed'],
      (status, id, more) => ({ id, object: 'video', status, ...more }),
      (error) => ({ error }),
      { queued: { progress: 0 }, running: { progress: 42 } },
    ),
    refusals: nested,
  },
  veo: {
    id: /^models\/veo-3\.1-generate-preview\/operations\/[0-9a-f]{12}$/,
    idAt: 'name',
    submitted: (name) => ({ name }),
    queued: (name) => ({ name, done: false }),
    running: (name) => ({ name, done: false }),
    succeeded: (name) => ({ name, done: true }),
    failed: (name) => ({ name, done: true, error: { code: 3, message: FAILURE.message } }),
    cancelled: (name) => ({ name, done: true, error: { code: 1, message: CANCELLED.message } }),
    videoAt: 'response.generatedVideos.0.video.uri',
    refusals: refusals((status, message) => ({
      error: { code: status, message, status: expect.stringMatching(/^[A-Z_]+$/) },
    })),
  },
  luma: {
    id: UUID,
    idAt: 'id',
    submitStatus: 201,
    submitted: (id) => ({ id, state: 'queued', assets: null }),
    ...pollAnswers(
      ['queued', 'dreaming', 'completed', 'failed'],
      (state, id, more) => ({ id, state, failure_reason: null, ...more }),
      ({ message }) => ({ failure_reason: message }),
    ),
    videoAt: 'assets.video',
    decoysAt: ['assets.image'],
    refusals: refusals((_, message) => ({ detail: message })),
  },
  kling: {
    id: DIGITS,
    idAt: 'data.task_id',
    submitted: (id) => ({ ...KLING_OK, data: { task_id: id, task_status: 'submitted' } }),
    ...pollAnswers(
      ['submitted', 'processing', 'succeed', 'failed'],
      (word, id, more) => ({
        ...KLING_OK,
        data: { task_id: id, task_status: word, task_status_msg: '', ...more },
      }),
      ({ message }) => ({ task_status_msg: message }),
    ),
    videoAt: 'data.task_result.videos.0.url',
    decoysAt: ['data.task_result.videos.0.watermark_url'],
    refusals: refusals((status, message) => ({
      code: { 400: 1201, 401: 1000, 404: 1203, 429: 1303 }[status],
      message,
    })),
  },
  minimax: {
    id: DIGITS,
    idAt: 'task_id',
    submitted: (id) => ({ task_id: id, base_resp: MINIMAX_OK }),
    queued: (id) => ({ task_id: id, status: 'Queueing', file_id: '', base_resp: MINIMAX_OK }),
    running: (id) => ({ task_id: id, status: 'Processing', file_id: '', base_resp: MINIMAX_OK }),
    succeeded: (id) => ({ task_id: id, status: 'Success', file_id: expect.stringMatching(DIGITS) }),
    failed: (id) => ({
      task_id: id,
      status: 'Fail',
      base_resp: { status_code: 1000, status_msg: 'Not this.' },
    }),
    cancelled: (id) => ({ task_id: id, status: 'Fail', base_resp: { status_msg: CANCELLED.message } }),
    refusals: refusals(
      (status, message) => ({
        base_resp: {
          status_code: { 400: 2013, 401: 1004, 404: 2013, 429: 1002 }[status],
          status_msg: message,
        },
      }),
      UNDER_200,
    ),
  },
  'minimax-v2': {
    id: HEX,
    idAt: 'task_id',
    submitted: (id) => ({ task_id: id }),
    ...pollAnswers(
      ARK_WORDS,
      (status, id, more) => ({ task: { id, status, ...more } }),
      (error) => ({ error }),
    ),
    videoAt: 'task.content.url',
    refusals: nested,
  },
  vidu: {
    id: HEX,
    idAt: 'task_id',
    submitted: (id) => ({ task_id: id, state: 'created' }),
    ...pollAnswers(
      ['queueing', 'processing', 'success', 'failed'],
      (state, id, more) => ({ id, state, err_code: '', ...more }),
      ({ code }) => ({ err_code: code, creations: [] }),
    ),
    videoAt: 'creations.0.url',
    decoysAt: ['creations.0.cover_url', 'creations.0.watermarked_url'],
    refusals: refusals((status, message) => ({ code: status, reason: CODES[status], message })),
  },
  dashscope: {
    id: UUID,
    idAt: 'output.task_id',
    submitted: (id) => ({
      request_id: expect.not.stringMatching(id),
      output: { task_id: id, task_status: 'PENDING' },
    }),
    ...pollAnswers(
      ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED'],
      (word, id, more) => ({ output: { task_id: id, task_status: word, ...more } }),
      (error) => error,
    ),
    videoAt: 'output.video_url',
    refusals: {
      ...refusals((status, message) => ({ code: CODES[status], message })),
      notFound: [200, () => ({ output: { task_id: 'no-such-task', task_status: 'UNKNOWN' } })],
    },
  },
  xai: {
    id: UUID,
    idAt: 'request_id',
    submitted: (id) => ({ request_id: id }),
    queued: () => [202, ''],
    running: () => [202, ''],
    succeeded: () => ({ status: 'done', video: { duration: 5 } }),
    failed: () => ({ status: 'failed', error: FAILURE }),
    cancelled: () => ({ status: 'failed', error: CANCELLED }),
    videoAt: 'video.url',
    refusals: refusals((status, message) => ({ code: CODES[status], error: message })),
  },
  wavespeed: {
    id: HEX,
    idAt: 'data.id',
    submitted: (id) => ({ code: 200, message: 'success', data: { id, status: 'created', outputs: [] } }),
    ...pollAnswers(
      ['created', 'processing', 'completed', 'failed'],
      (status, id, more) => ({ code: 200, data: { id, status, error: '', ...more } }),
      ({ message }) => ({ error: message, outputs: [] }),
    ),
    videoAt: 'data.outputs.0',
    refusals: refusals((status, message) => ({ code: status, message })),
  },
  kie: {
    id: HEX,
    idAt: 'data.taskId',
    submitted: (id) => ({ code: 200, msg: 'success', data: { taskId: id } }),
    ...pollAnswers(
      ['queuing', 'generating', 'success', 'fail'],
      (state, id, more) => ({ code: 200, data: { taskId: id, state, failCode: null, ...more } }),
      ({ code, message }) => ({ failCode: code, failMsg: message, resultJson: '' }),
    ),
    videoAt: 'data.resultJson.resultUrls.0',
    decoysAt: ['data.resultJson.resultWaterMarkUrls.0', 'data.param.input.image_url'],
    refusals: refusals((status, message) => ({ code: status, msg: message, data: null }), UNDER_200),
  },
  pixverse: {
    id: DIGITS,
    idAt: 'Resp.video_id',
    submitted: (id) => ({ ...PIXVERSE_OK, Resp: { video_id: id } }),
    queued: (id) => ({ ...PIXVERSE_OK, Resp: { id, status: 5, url: '' } }),
    running: (id) => ({ ...PIXVERSE_OK, Resp: { id, status: 5, url: '' } }),
    succeeded: (id) => ({ ...PIXVERSE_OK, Resp: { id, status: 1 } }),
    failed: (id) => ({ ...PIXVERSE_OK, Resp: { id, status: 8, url: '' } }),
    cancelled: (id) => ({ ...PIXVERSE_OK, Resp: { id, status: 8, url: '' } }),
    videoAt: 'Resp.url',
    refusals: refusals(
      (status, message) => ({
        ErrCode: { 400: 400017, 401: 10005, 404: 400018, 429: 500044 }[status],
        ErrMsg: message,
        Resp: null,
      }),
      UNDER_200,
    ),
  },
  'new-api': {
    id: /^task_/,
    idAt: 'task_id',
    submitted: (id) => ({ task_id: id, status: 'queued' }),
    ...pollAnswers(
      ['queued', 'in_progress', 'completed', 'failed'],
      (status, id, more) => ({ task_id: id, status, error: { code: 0, message: '' }, ...more }),
      (error) => ({ error, url: '' }),
      { queued: { progress: '0%' }, running: { progress: '42%' } },
    ),
    videoAt: 'url',
    refusals: nested,
  },
  evolink: {
    id: /^task-unified-/,
    idAt: 'id',
    submitted: (id) => ({ id, status: 'pending', progress: 0 }),
    ...pollAnswers(
      ['pending', 'processing', 'completed', 'failed'],
      (status, id, more) => ({ id, status, ...more }),
      (error) => ({ error }),
      { queued: { progress: 0 }, running: { progress: 42 } },
    ),
    videoAt: 'results.0',
    refusals: nested,
  },
  higgsfield: {
    id: UUID,
    idAt: 'request_id',
    submitted: (id) => ({ request_id: id, status: 'queued' }),
    ...pollAnswers(
      ['queued', 'in_progress', 'completed', 'failed', 'canceled'],
      (status, id, more) => ({ request_id: id, status, ...more }),
      ({ message }) => ({ error: message }),
    ),
    videoAt: 'video.url',
    refusals: refusals((_, message) => ({ detail: message }), { tooMany: 400 }),
  },
  inworld: {
    id: UUID,
    idAt: 'id',
    submitted: (id) => ({ id, status: 'queued' }),
    ...pollAnswers(
      ['queued', 'in_progress', 'completed', 'failed'],
      (status, id, more) => ({ id, status, ...more }),
      (error) => ({ error }),
    ),
    videoAt: 'output.videos.0.url',
    refusals: refusals((status, message) => ({
      code: { 400: 3, 401: 16, 404: 5, 429: 8 }[status],
      message,
      details: [],
    })),
  },
};
