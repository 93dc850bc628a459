import { type Environment, readServiceConfig } from '../../config/service-config';

/** The address alone: a key that is wrong as well is another check's matter. */
export function readBaseUrl({ VIDEO_API_BASE_URL }: Environment): string {
  return readServiceConfig({ VIDEO_API_BASE_URL, VIDEO_API_KEY: 'not-read' }).baseUrl;
}

/** The key alone, whatever the other settings are. */
export function readKey({ VIDEO_API_KEY, VIDEO_API_KEY_FILE }: Environment): () => string {
  return readServiceConfig({ VIDEO_API_KEY, VIDEO_API_KEY_FILE, VIDEO_API_BASE_URL: 'http://not.read' })
    .apiKey;
}
