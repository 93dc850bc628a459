import { createHash } from 'node:crypto';
import type { VideoRequest } from '../../contract/request';

export interface EmulatedVideo {
  bytes: Buffer;
  /** A strong one: a hash of the bytes. */
  etag: string;
}

/** Some dozens of videos of the usual size. A test may make hundreds of tasks. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024;

/**
 * Makes a request's video on first use and caches the most recently used ones. Making one takes up to a second, and
 * most tasks of a test are never downloaded.
 */
export class VideoCache {
  /** The least recently used comes first. */
  private readonly videos = new Map<string, { video: Promise<EmulatedVideo>; bytes: number }>();

  constructor(private readonly make: (request: VideoRequest) => Promise<Buffer>) {}

  get(request: VideoRequest): Promise<EmulatedVideo> {
    // Parsing puts the fields of a request in the order of the schema.
    const key = JSON.stringify(request);
    const cached = this.videos.get(key) ?? { video: this.create(key, request), bytes: 0 };
    this.videos.delete(key);
    this.videos.set(key, cached);
    return cached.video;
  }

  private async create(key: string, request: VideoRequest): Promise<EmulatedVideo> {
    try {
      const bytes = await this.make(request);
      const cached = this.videos.get(key);
      if (cached) cached.bytes = bytes.length;
      this.evictOldest(key);
      return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` };
    } catch (error) {
      this.videos.delete(key);
      throw error;
    }
  }

  private evictOldest(latest: string): void {
    let total = [...this.videos.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [key, { bytes }] of this.videos) {
      if (total <= MAX_CACHED_BYTES) return;
      // Callers await unfinished ones.
      if (key === latest || bytes === 0) continue;
      this.videos.delete(key);
      total -= bytes;
    }
  }
}
