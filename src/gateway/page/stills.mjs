import { call, readBody } from './calls.mjs';

/** The bytes of videos, and one still of each for the wall. */

/** A wall of large videos would load gigabytes. */
const LARGEST_BYTES = 60_000_000;
const MOST_AT_ONCE = 2;
/** Many videos begin with a black frame. */
const STILL_AT_SECONDS = 0.5;
const STILL_WIDTH = 480;

const stills = new Map();
const waiting = [];
let loading = 0;

/** The address of a video in this tab: a player cannot send the key. The caller revokes it. */
export async function loadContent(id, signal) {
  // The policy of the page lets it connect to the gateway only, so a redirect to the storage would be refused.
  const response = await call(`v1/videos/${id}/content`, { signal });
  return URL.createObjectURL(await readBody(response, 'blob'));
}

/** The address of a still, or undefined where there is none. */
export function stillOf({ id, video }) {
  if (video === null || video.bytes > LARGEST_BYTES) return Promise.resolve(undefined);
  if (!stills.has(id)) {
    stills.set(id, new Promise((resolve) => waiting.push({ id, resolve })));
    loadNext();
  }
  return stills.get(id);
}

function loadNext() {
  if (loading >= MOST_AT_ONCE || waiting.length === 0) return;
  const { id, resolve } = waiting.shift();
  loading++;
  void takeStill(id)
    .catch(() => {
      // The video may be there at the next time.
      stills.delete(id);
    })
    .then((url) => {
      loading--;
      resolve(url);
      loadNext();
    });
}

async function takeStill(id) {
  const source = await loadContent(id);
  const player = Object.assign(document.createElement('video'), { muted: true, preload: 'auto' });
  try {
    await happened(player, 'loadedmetadata', () => {
      player.src = source;
    });
    await happened(player, 'seeked', () => {
      player.currentTime = Math.min(STILL_AT_SECONDS, player.duration / 2);
    });
    const canvas = document.createElement('canvas');
    canvas.width = Math.min(STILL_WIDTH, player.videoWidth);
    canvas.height = Math.round((canvas.width * player.videoHeight) / player.videoWidth);
    canvas.getContext('2d').drawImage(player, 0, 0, canvas.width, canvas.height);
    const picture = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.8));
    return URL.createObjectURL(picture);
  } finally {
    player.removeAttribute('src');
    URL.revokeObjectURL(source);
  }
}

function happened(player, event, cause) {
  return new Promise((resolve, reject) => {
    player.addEventListener(event, resolve, { once: true });
    player.addEventListener('error', () => reject(player.error), { once: true });
    cause();
  });
}
