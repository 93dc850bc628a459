import type { TaskFailure } from '../../src/testing/task-store';
import {
  hexOf,
  integerOf,
  isModerated,
  locationOf,
  type ServiceWords,
  shownError,
  toSeconds,
  uuidOf,
  withStatus,
  words,
} from './service-words';

/** Services that wrap the task in an envelope, or report it in unusual ways. */

/** Of the call, not of its task. */
const CALL_ID = '7f3a0000-1111-4222-8333-444455556666';

const fal: ServiceWords = {
  words: words('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'COMPLETED'),
  idOf: uuidOf,
  accepted: (task) => fal.status(task),
  status: ({ id, state, word, error, videoUrl, origin }) =>
    error && error.refuses !== 'output'
      ? withStatus(422, { detail: [{ loc: locationOf(error), msg: error.message, type: error.code }] })
      : {
          status: word,
          has_nsfw_concepts: error && [true],
          request_id: id,
          response_url: `${origin}/v1/videos/${id}`,
          status_url: `${origin}/v1/videos/${id}`,
          queue_position: state === 'queued' ? 0 : undefined,
          video: videoUrl && { url: videoUrl, content_type: 'video/mp4', file_name: 'output.mp4' },
        },
  refused: ({ status, code, message, ...more }) =>
    status === 400
      ? withStatus(422, { detail: [{ loc: locationOf(more), msg: message, type: code }] })
      : { detail: message },
};

/** A Google long-running operation: done or not, with a response or an error. */
const veo: ServiceWords = {
  words: words(false, false, true, true),
  idOf: (taskId) => `models/veo-3.1-generate-preview/operations/${hexOf(taskId).slice(0, 12)}`,
  idHasSlashes: true,
  accepted: ({ id }) => ({ name: id }),
  status: ({ id, word, error, videoUrl }) => ({
    name: id,
    done: word,
    error:
      error?.refuses === 'output'
        ? undefined
        : error && {
            code: error.code === 'cancelled' ? 1 : 3,
            message: error.message,
            details: [{ reason: error.code }],
          },
    response:
      error?.refuses === 'output'
        ? { raiMediaFilteredCount: 1, raiMediaFilteredReasons: [error.message] }
        : videoUrl && { generatedVideos: [{ video: { uri: videoUrl } }] },
  }),
  refused: ({ status, message }) => ({
    error: { code: status, message, status: GOOGLE_STATUS[status] ?? 'UNKNOWN' },
  }),
};

const GOOGLE_STATUS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

const kling: ServiceWords = {
  words: words('submitted', 'processing', 'succeed', 'failed'),
  idOf: (taskId) => String(integerOf(taskId)),
  accepted: ({ id, word, submittedAtMs }) => ({
    ...klingEnvelope(0, 'SUCCEED'),
    data: { task_id: id, task_status: word, created_at: submittedAtMs },
  }),
  status: ({ id, word, error, videoUrl, submittedAtMs, stillUrl }) => ({
    ...klingEnvelope(0, 'SUCCEED'),
    data: {
      task_id: id,
      task_status: word,
      task_status_msg: error?.message ?? '',
      created_at: submittedAtMs,
      task_result: videoUrl && {
        videos: [{ id: 'video-1', watermark_url: stillUrl('watermarked.mp4'), url: videoUrl, duration: '5' }],
      },
    },
  }),
  refused: ({ status, code, message, refuses }) =>
    klingEnvelope(
      refuses ? Number(code) : code === 'concurrency_limit' ? 1303 : (KLING_CODES[status] ?? 5000),
      message,
    ),
};

const KLING_CODES: Record<number, number> = { 400: 1201, 401: 1000, 404: 1203, 429: 1302 };

const klingEnvelope = (code: number, message: string) => ({ code, message, request_id: CALL_ID });

/** MiniMax's first interface: the video is a file with its own id, and errors come with HTTP 200. */
const minimax: ServiceWords = {
  words: words('Queueing', 'Processing', 'Success', 'Fail'),
  idOf: (taskId) => String(integerOf(taskId)),
  accepted: ({ id }) => ({ task_id: id, ...MINIMAX_OK }),
  status: ({ id, word, error, videoUrl }) => ({
    task_id: id,
    status: word,
    file_id: videoUrl === undefined ? '' : String(minimaxFile(id)),
    ...(error ? minimaxError(minimaxCode(error), error.message) : MINIMAX_OK),
  }),
  refused: ({ status, code, message, refuses }) =>
    withStatus(200, minimaxError(refuses ? Number(code) : (MINIMAX_CODES[status] ?? 1000), message)),
  video: {
    fileOf: minimaxFile,
    retrieved: ({ id, videoUrl, submittedAtMs }) =>
      videoUrl === undefined
        ? minimaxError(2013, 'no such file')
        : {
            file: {
              file_id: minimaxFile(id),
              created_at: toSeconds(submittedAtMs),
              filename: 'output.mp4',
              purpose: 'video_generation',
              download_url: videoUrl,
            },
            ...MINIMAX_OK,
          },
  },
};

function minimaxFile(id: string): bigint {
  return integerOf(`file of ${id}`);
}

function minimaxCode(error: TaskFailure): number {
  if (error.refuses) return Number(error.code);
  return isModerated(error) ? 1026 : 1000;
}

const minimaxError = (code: number, message: string) => ({
  base_resp: { status_code: code, status_msg: message },
});
const MINIMAX_OK = minimaxError(0, 'success');
const MINIMAX_CODES: Record<number, number> = { 400: 2013, 401: 1004, 404: 2013, 429: 1002 };

const dashscope: ServiceWords = {
  words: words('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED'),
  idOf: uuidOf,
  accepted: ({ id, word }) => ({ output: { task_id: id, task_status: word }, request_id: CALL_ID }),
  status: ({ id, word, error, videoUrl }) => ({
    request_id: CALL_ID,
    output: { task_id: id, task_status: word, video_url: videoUrl, ...shownError(error) },
  }),
  refused: ({ code, message }) =>
    code === 'not_found'
      ? withStatus(200, { request_id: CALL_ID, output: { task_id: 'any', task_status: 'UNKNOWN' } })
      : { request_id: CALL_ID, code, message },
};

const xai: ServiceWords = {
  words: words('pending', 'pending', 'done', 'failed'),
  idOf: uuidOf,
  accepted: ({ id }) => ({ request_id: id }),
  status: ({ state, word, error, videoUrl }) =>
    state === 'queued' || state === 'running'
      ? withStatus(202)
      : error?.refuses === 'output'
        ? { status: 'done', video: { url: '', duration: 0, respect_moderation: false } }
        : {
            status: word,
            video: videoUrl && { url: videoUrl, duration: 5, respect_moderation: true },
            error: shownError(error),
          },
  refused: ({ code, message }) => ({ code, error: message }),
};

const wavespeed: ServiceWords = {
  words: words('created', 'processing', 'completed', 'failed'),
  idOf: hexOf,
  accepted: (task) => wavespeed.status(task),
  status: ({ id, word, error, videoUrl, origin }) => ({
    code: 200,
    message: 'success',
    data: {
      id,
      status: word,
      outputs: videoUrl ? [videoUrl] : [],
      has_nsfw_contents: videoUrl && [false],
      code: error?.refuses && Number(error.code),
      urls: { get: `${origin}/v1/videos/${id}` },
      error: error?.message ?? '',
    },
  }),
  refused: ({ status, message }) => ({ code: status, message }),
};

/** Results are JSON in a string, and errors come with HTTP 200. */
const kie: ServiceWords = {
  words: words('queuing', 'generating', 'success', 'fail'),
  idOf: hexOf,
  accepted: ({ id }) => ({ code: 200, msg: 'success', data: { taskId: id } }),
  status: ({ id, word, error, videoUrl, stillUrl }) => ({
    code: 200,
    msg: 'success',
    data: {
      taskId: id,
      state: word,
      param: JSON.stringify({ input: { image_url: stillUrl('source.png') } }),
      resultJson: videoUrl
        ? JSON.stringify({
            resultWaterMarkUrls: [stillUrl('watermarked.mp4')],
            resultUrls: [videoUrl],
          })
        : '',
      failCode: error?.code ?? null,
      failMsg: error?.message ?? null,
    },
  }),
  refused: ({ status, message }) => withStatus(200, { code: status, msg: message, data: null }),
};

/** States are numbers, ids exceed JavaScript's safe integers, and errors come with HTTP 200. */
const pixverse: ServiceWords = {
  words: words(5, 5, 1, 8),
  idOf: (taskId) => String(integerOf(taskId)),
  accepted: ({ id }) => ({ ErrCode: 0, ErrMsg: 'success', Resp: { video_id: BigInt(id) } }),
  status: ({ id, word, error, videoUrl }) => ({
    ErrCode: 0,
    ErrMsg: 'success',
    Resp: { id: BigInt(id), status: isModerated(error) ? 7 : word, url: videoUrl ?? '' },
  }),
  refused: ({ status, message }) =>
    withStatus(200, { ErrCode: PIXVERSE_CODES[status] ?? 99999, ErrMsg: message, Resp: null }),
};

const PIXVERSE_CODES: Record<number, number> = { 400: 400017, 401: 10005, 404: 400018, 429: 500044 };

export const WRAPPED_SERVICES = {
  fal,
  veo,
  kling,
  minimax,
  dashscope,
  xai,
  wavespeed,
  kie,
  pixverse,
};
