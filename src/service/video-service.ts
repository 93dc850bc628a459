import type { VideoService } from './http-video-service';
import { ServiceFault } from './service-fault';
import { baseOf, type VideoServiceOptions } from './service-options';

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
  // Said now, not at the first call. The text is not shown: it may have a password in it.
  if (!URL.canParse(baseUrl)) throw new TypeError('The baseUrl of the video service is not a URL.');
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
  const { origin, pathname } = baseOf(baseUrl);
  return origin + pathname;
}

/** undici takes a tenth of a second and 20 MB to load: a worker without jobs does without. */
function openHttp(options: VideoServiceOptions): VideoService {
  try {
    const { createHttpVideoService }: typeof import('./http-video-service') = require('./http-video-service');
    return createHttpVideoService(options);
  } catch (error) {
    // Any other error would be taken for a submit that may have been sent. Its text may have an option in it.
    throw new ServiceFault('not-sent', { message: 'the HTTP client could not be loaded' }, { cause: error });
  }
}
