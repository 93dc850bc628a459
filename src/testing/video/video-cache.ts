import { createHash } from 'node:crypto';
import type { VideoRequest } from '../../contract/request';

export interface EmulatedVideo {
  bytes: Buffer;
  /** A strong one: a hash of the bytes. */
  etag: string;
}

/** A test may make hundreds of tasks. */
const MOST_CACHED = 16;

/** Makes a request's video on first use, which takes up to a second, and caches the most recently used ones. */
export class VideoCache {
  /** The least recently used comes first. */
  private readonly videos = new Map<string, Promise<EmulatedVideo>>();

  constructor(private readonly make: (request: VideoRequest) => Promise<Buffer>) {}

  get(request: VideoRequest): Promise<EmulatedVideo> {
    // Parsing puts the fields of a request in the order of the schema.
    const key = JSON.stringify(request);
    const video = this.videos.get(key) ?? this.create(request);
    this.videos.delete(key);
    this.videos.set(key, video);
    video.catch(() => this.videos.delete(key));
    const [oldest = ''] = this.videos.keys();
    if (this.videos.size > MOST_CACHED) this.videos.delete(oldest);
    return video;
  }

  private async create(request: VideoRequest): Promise<EmulatedVideo> {
    const bytes = await this.make(request);
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` };
  }
}
