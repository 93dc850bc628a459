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
  private readonly videos = new Map<string, Promise<EmulatedVideo>>();
  private readonly sizes = new Map<string, number>();

  constructor(private readonly make: (request: VideoRequest) => Promise<Buffer>) {}

  get(request: VideoRequest): Promise<EmulatedVideo> {
    // Parsing puts the fields of a request in the order of the schema.
    const key = JSON.stringify(request);
    const cached = this.videos.get(key);
    // Reinserted, so that the map starts with the least recently used video.
    this.videos.delete(key);
    const video = cached ?? this.create(key, request);
    this.videos.set(key, video);
    return video;
  }

  private async create(key: string, request: VideoRequest): Promise<EmulatedVideo> {
    try {
      const bytes = await this.make(request);
      const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
      this.sizes.set(key, bytes.length);
      this.evictOldest(key);
      return { bytes, etag };
    } catch (error) {
      this.videos.delete(key);
      throw error;
    }
  }

  /** Unfinished videos stay, since callers await them. */
  private evictOldest(latest: string): void {
    let total = [...this.sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const key of this.videos.keys()) {
      const size = this.sizes.get(key);
      if (total <= MAX_CACHED_BYTES) return;
      if (size === undefined || key === latest) continue;
      this.videos.delete(key);
      this.sizes.delete(key);
      total -= size;
    }
  }
}
