import type { VideoRequest } from '../contract/request';
import type { OpenVideoOptions, VideoBody } from './open-video';
import type { ServiceProfile } from './profile';
import type { AnswerReading, TracedReading } from './read-answer';
import type { VideoServiceOptions } from './service-options';

export type CancelAnswer = 'asked' | 'refused' | 'not-offered';

export type TaskReading = AnswerReading & Pick<TracedReading, 'doubts' | 'retryAfterMs'>;

/** The video generation service. Each call is one attempt: only Temporal retries. */
export interface VideoService {
  /** Names the service in the file of learned times. The worker learns nothing about a service without it. */
  readonly address?: string;
  /** Where the service differs from the interface, for parsing requests and for the polling interval. */
  readonly profile?: ServiceProfile;
  /** Returns the new task, and what contradicts the reading of the answer, a sentence each. */
  submit(
    request: VideoRequest,
    options: { idempotencyKey: string },
  ): Promise<{ taskId: string; doubts: string[] }>;
  poll(taskId: string, options?: { signal?: AbortSignal }): Promise<TaskReading>;
  /** Throws a `ServiceFault` of the kind `not-allowed` when the link, or a redirect, leads to a forbidden address. */
  openVideo(link: string, options?: OpenVideoOptions): Promise<VideoBody>;
  /** Asks the service to stop a task, if its profile has a call for that. */
  cancel(taskId: string, options?: { signal?: AbortSignal }): Promise<CancelAnswer>;
  close(): Promise<void>;
}

/**
 * Creates a client of a video service. Close it when you no longer need it.
 *
 * @example
 * ```ts
 * const service = createVideoService({ baseUrl: 'https://api.example.com', apiKey: () => 'sk-…' });
 * const activities = createVideoActivities({ service, storage: createFileStorage('./videos') });
 * ```
 */
export function createVideoService(options: VideoServiceOptions): VideoService {
  const { baseUrl, profile = {} } = options;
  // Said now, not at the first call.
  if (!URL.canParse(baseUrl)) throw new TypeError(`baseUrl is not a URL: ${JSON.stringify(baseUrl)}`);
  let opened: VideoService | undefined;
  const open = () => {
    opened ??= openHttp(options);
    return opened;
  };
  return {
    address: addressOf(baseUrl),
    profile,
    submit: async (request, idempotency) => open().submit(request, idempotency),
    poll: async (taskId, polling) => open().poll(taskId, polling),
    openVideo: async (link, opening) => open().openVideo(link, opening),
    cancel: async (taskId, cancelling) => open().cancel(taskId, cancelling),
    close: async () => opened?.close(),
  };
}

/** Without a key or a query that somebody may have put into it. */
function addressOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/$/, '');
}

/** undici takes a tenth of a second and 20 MB to load: a worker without jobs does without. */
function openHttp(options: VideoServiceOptions): VideoService {
  const { createHttpVideoService }: typeof import('./http-video-service') = require('./http-video-service');
  return createHttpVideoService(options);
}
