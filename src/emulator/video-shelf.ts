import { createHash } from 'node:crypto';
import type { VideoRequest } from '../contract/request';

export interface EmulatedVideo {
  bytes: Buffer;
  /** Strong: it follows from the content. */
  etag: string;
}

/** What is kept: some dozens of videos of usual size. A test may make hundreds of tasks, and any of them again. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Makes each request's video when it is first asked for, and keeps the latest ones. Most tasks of a test are never
 * downloaded, and a video takes up to a second or so.
 */
export class VideoShelf {
  private readonly videos = new Map<string, Promise<EmulatedVideo>>();
  private readonly sizes = new Map<string, number>();

  constructor(private readonly make: (request: VideoRequest) => Promise<Buffer>) {}

  get(request: VideoRequest): Promise<EmulatedVideo> {
    // A parsed request has its fields in the order of the schema.
    const key = JSON.stringify(request);
    const known = this.videos.get(key);
    // Put in again, so that the first one in the map is the one not asked for the longest.
    this.videos.delete(key);
    const video = known ?? this.create(key, request);
    this.videos.set(key, video);
    return video;
  }

  private async create(key: string, request: VideoRequest): Promise<EmulatedVideo> {
    try {
      const bytes = await this.make(request);
      const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
      this.sizes.set(key, bytes.length);
      this.clear(key);
      return { bytes, etag };
    } catch (error) {
      this.videos.delete(key);
      throw error;
    }
  }

  /** Only what is finished counts and goes: the others are awaited by somebody. */
  private clear(latest: string): void {
    let total = [...this.sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const key of this.videos.keys()) {
      const size = this.sizes.get(key);
      if (total <= MOST_BYTES) return;
      if (size === undefined || key === latest) continue;
      this.videos.delete(key);
      this.sizes.delete(key);
      total -= size;
    }
  }
}
