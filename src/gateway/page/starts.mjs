import { newKey, post } from './calls.mjs';

/** Starts jobs, and remembers in this tab what was asked for. */

const UNANSWERED = 'videogen.unanswered';
const REQUESTS = 'videogen.requests';
const MOST_REQUESTS = 50;
/** The gateway read the request and started nothing. After any other error a job may have started. */
const IS_REFUSED = new Set([400, 404, 409, 413, 415, 422]);

const read = (name) => JSON.parse(sessionStorage.getItem(name) ?? 'null');

/** The request whose answer never came, for example because the page was reloaded. */
export const unansweredRequest = () => read(UNANSWERED)?.request;

/**
 * Starts a job for a request. The Idempotency-Key is stored before the first attempt, so sending the same request again,
 * even after a reload, starts it once.
 */
export async function startVideo(request, onWait) {
  const before = read(UNANSWERED);
  const isSame = JSON.stringify(before?.request) === JSON.stringify(request);
  const idempotencyKey = isSame ? before.idempotencyKey : newKey();
  sessionStorage.setItem(UNANSWERED, JSON.stringify({ request, idempotencyKey }));
  const path = request.image_url === undefined ? 'v1/videos/text-to-video' : 'v1/videos/image-to-video';
  try {
    const video = await post(path, { body: JSON.stringify(request), idempotencyKey, onWait });
    sessionStorage.removeItem(UNANSWERED);
    remember(video.id, request);
    return video;
  } catch (error) {
    if (IS_REFUSED.has(error.status)) sessionStorage.removeItem(UNANSWERED);
    throw error;
  }
}

function remember(id, request) {
  const entries = Object.entries({ ...read(REQUESTS), [id]: request });
  sessionStorage.setItem(REQUESTS, JSON.stringify(Object.fromEntries(entries.slice(-MOST_REQUESTS))));
}

/**
 * The request of a video: as this tab sent it, or as far as the gateway shows it, which is without the image and with the
 * beginning of a long prompt (`isCut`).
 */
export function requestOf(video, { sizes, longestShownPromptChars }) {
  const known = read(REQUESTS)?.[video.id];
  if (known) return { request: known, isCut: false };
  const { prompt, seconds, size, seed } = video;
  return {
    request: {
      prompt: prompt ?? '',
      ...sizes[size],
      ...(seconds !== null && { duration: Number(seconds) }),
      ...(seed !== null && { seed }),
    },
    isCut: (prompt ?? '').length >= longestShownPromptChars,
  };
}
