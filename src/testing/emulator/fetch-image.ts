import { createHash } from 'node:crypto';

import type { FetchedImage } from './task-store';

/** What services take; the gateway's own limit is the same. */
const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;
const FETCH_WITHIN_MS = 10_000;

/** Fetches an image without a key, as a service does that is given only its address. */
export async function fetchImage(url: string): Promise<{ image: FetchedImage } | { problem: string }> {
  // Services quote what they could not fetch.
  const problem = (why: unknown) => ({ problem: `image_url cannot be fetched: ${url}: ${why}` });
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_WITHIN_MS) });
    const contentType = answer.headers.get('content-type') ?? '';
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) return problem(`HTTP ${answer.status}`);
    if (!contentType.startsWith('image/')) return problem(`it is ${contentType || 'of no type'}`);
    if (bytes.length > LARGEST_IMAGE_BYTES) return problem('it is too large');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { image: { bytes: bytes.length, sha256, contentType } };
  } catch (error) {
    return problem(error);
  }
}
