import { CallFailed, call, sleep } from './calls.mjs';

/** EventSource cannot send a key, so the stream is read with fetch. */

const RECONNECT_AFTER_MS = 1_000;

export const hasEnded = ({ status }) => status === 'completed' || status === 'failed';

/** Calls `onVideo` with each state of a video until it has ended or `signal` aborts. Connects again where it stopped. */
export async function watchVideo(id, signal, onVideo, onConnection) {
  let lastId = '';
  while (!signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
      const { body } = await call(`v1/videos/${id}/events`, { headers, signal });
      onConnection(true);
      for await (const event of readEvents(body)) {
        lastId = event.id ?? lastId;
        const video = JSON.parse(event.data);
        onVideo(video);
        if (hasEnded(video)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      // It is gone, or the person has no key for it.
      if (error instanceof CallFailed && error.status >= 400 && error.status < 500 && error.status !== 429)
        throw error;
      onConnection(false);
    }
    await sleep(RECONNECT_AFTER_MS);
  }
}

async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event.data !== undefined) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** The gateway writes one line a field. */
function parseEvent(block) {
  const lines = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line));
  return Object.fromEntries(lines.filter(Boolean).map(([, name, value]) => [name, value]));
}
