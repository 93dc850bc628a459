import {
  hexOf,
  isModerated,
  type ServiceWords,
  shownError,
  toSeconds,
  uuidOf,
  withStatus,
  words,
} from './service-words';

/** Services whose answers are the task itself. */

/** BytePlus Ark, Seedance. */
const ark: ServiceWords = {
  words: words('queued', 'running', 'succeeded', 'failed', 'cancelled'),
  idOf: (taskId) => `cgt-${uuidOf(taskId)}`,
  accepted: ({ id }) => ({ id }),
  status: ({ id, word, error, videoUrl, submittedAtMs, stillUrl }) => ({
    id,
    model: 'seedance-1-0-pro',
    status: word,
    error: shownError(error),
    content: videoUrl && { last_frame_url: stillUrl('last-frame.png'), video_url: videoUrl },
    created_at: toSeconds(submittedAtMs),
  }),
  refused: ({ code, message }) => ({ error: { code, message, param: '', type: 'BadRequest' } }),
};

const runway: ServiceWords = {
  words: words('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'),
  idOf: uuidOf,
  accepted: ({ id }) => ({ id }),
  status: ({ id, word, state, percent = 0, error, videoUrl, submittedAtMs }) => ({
    id,
    status: word,
    createdAt: new Date(submittedAtMs).toISOString(),
    progress: state === 'running' ? percent / 100 : undefined,
    output: videoUrl && [videoUrl],
    failure: error?.message,
    failureCode: error?.code,
  }),
  refused: ({ message }) => ({ error: message, docUrl: 'https://docs.example.com/errors' }),
};

const replicate: ServiceWords = {
  words: words('starting', 'processing', 'succeeded', 'failed', 'canceled'),
  idOf: (taskId) => hexOf(taskId).slice(0, 26),
  accepted: (task) => withStatus(201, replicate.status(task)),
  status: ({ id, word, error, videoUrl, origin }) => ({
    id,
    status: word,
    urls: { get: `${origin}/v1/predictions/${id}`, cancel: `${origin}/v1/predictions/${id}/cancel` },
    output: videoUrl ?? null,
    error: error?.message ?? null,
  }),
  refused: ({ status, code, message }) => ({ title: code, detail: message, status }),
};

const openai: ServiceWords = {
  words: words('queued', 'in_progress', 'completed', 'failed'),
  idOf: (taskId) => `video_${hexOf(taskId)}`,
  video: 'content',
  accepted: (task) => openai.status(task),
  status: ({ id, state, word, percent, error, submittedAtMs }) => ({
    id,
    object: 'video',
    model: 'sora-2',
    status: word,
    progress: state === 'succeeded' ? 100 : (percent ?? 0),
    created_at: toSeconds(submittedAtMs),
    error: shownError(error) ?? null,
  }),
  refused: ({ code, message }) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
};

const luma: ServiceWords = {
  words: words('queued', 'dreaming', 'completed', 'failed'),
  idOf: uuidOf,
  accepted: (task) => withStatus(201, luma.status(task)),
  status: ({ id, word, error, videoUrl, submittedAtMs, stillUrl }) => ({
    id,
    generation_type: 'video',
    state: word,
    failure_reason: error?.message ?? null,
    created_at: new Date(submittedAtMs).toISOString(),
    assets: videoUrl ? { image: stillUrl('first-frame.jpg'), video: videoUrl } : null,
  }),
  refused: ({ message }) => ({ detail: message }),
};

const vidu: ServiceWords = {
  words: words('queueing', 'processing', 'success', 'failed'),
  idOf: hexOf,
  accepted: ({ id }) => ({ task_id: id, state: 'created' }),
  status: ({ id, word, error, videoUrl, stillUrl }) => ({
    id,
    state: word,
    err_code: error?.code ?? '',
    creations: videoUrl
      ? [
          {
            id: 'creation-1',
            cover_url: stillUrl('cover.jpg'),
            watermarked_url: stillUrl('watermarked.mp4'),
            url: videoUrl,
          },
        ]
      : [],
  }),
  refused: ({ status, code, message }) => ({ code: status, reason: code, message, metadata: {} }),
};

const newApi: ServiceWords = {
  words: words('queued', 'in_progress', 'completed', 'failed'),
  accepted: ({ id, word }) => ({ task_id: id, status: word }),
  status: ({ id, word, percent, error, videoUrl, origin }) => ({
    task_id: id,
    status: word,
    progress: percent === undefined ? undefined : `${percent}%`,
    format: 'mp4',
    // A relative link.
    url: videoUrl?.slice(origin.length) ?? '',
    error: shownError(error) ?? { code: 0, message: '' },
  }),
  refused: ({ code, message }) => ({ error: { message, type: 'new_api_error', param: '', code } }),
};

const higgsfield: ServiceWords = {
  words: words('queued', 'in_progress', 'completed', 'failed', 'canceled'),
  idOf: uuidOf,
  accepted: (task) => higgsfield.status(task),
  status: ({ id, word, error, videoUrl, origin }) => ({
    request_id: id,
    status: isModerated(error) ? 'nsfw' : word,
    status_url: `${origin}/v1/videos/${id}`,
    video: videoUrl && { url: videoUrl },
    error: error?.message,
  }),
  // Too many tasks at once is a 400, which only its text distinguishes from an invalid request.
  refused: ({ status, code, message }) =>
    withStatus(code === 'concurrency_limit' ? 400 : status, { detail: message }),
};

export const FLAT_SERVICES = {
  ark,
  runway,
  replicate,
  openai,
  luma,
  vidu,
  'new-api': newApi,
  higgsfield,
};
