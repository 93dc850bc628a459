import { getJson } from './calls.mjs';
import { hasEnded } from './events.mjs';

/** The videos that the page knows, newest first. */

const PAGE_LENGTH = 24;

const known = new Map();
const listeners = new Set();

export const onChange = (listener) => listeners.add(listener);

export const allVideos = () => [...known.values()].sort((a, b) => b.created_at - a.created_at);

export const knownVideo = (id) => known.get(id);

export function putVideos(...videos) {
  for (const video of videos) known.set(video.id, newer(known.get(video.id), video));
  for (const listener of listeners) listener();
}

/** Answers may overtake each other, and lists do not ask for the progress. */
function newer(before, now) {
  if (before === undefined || hasEnded(now)) return now;
  return hasEnded(before) ? before : { ...now, progress: Math.max(now.progress, before.progress) };
}

/** Reads one page of the list. Resolves with the id after which there are more, or undefined. */
export async function loadVideos(after) {
  const query = new URLSearchParams({ limit: PAGE_LENGTH, ...(after && { after }) });
  const { data, has_more: hasMore, last_id: lastId } = await getJson(`v1/videos?${query}`);
  putVideos(...data);
  return hasMore ? lastId : undefined;
}

export async function loadVideo(id) {
  putVideos(await getJson(`v1/videos/${id}`));
}
