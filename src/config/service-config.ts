import type { VideoServiceOptions } from '../service';
import { parseSecret, secretFile } from './read-files';
import { type Environment, problemWith, withoutBlanks } from './read-setting';
import type { ServiceInFile } from './services-file';
import { apiKey } from './setting-forms';
import { readSecret, readSetting, SETTINGS } from './settings';

export { ConfigError, type Environment } from './read-setting';

const { VIDEO_API_BASE_URL, VIDEO_API_KEY } = SETTINGS['Video service'];

/** Where the video service is, and its key. A key in a file is read at every call, so that it can be rotated. */
export function readServiceConfig(env?: Environment): VideoServiceOptions {
  const profile = readSetting('VIDEOGEN_PROFILE', env);
  const downloadAllow = readSetting('VIDEOGEN_DOWNLOAD_ALLOW', env);
  return Object.freeze({
    baseUrl: readBaseUrl(env),
    apiKey: readApiKey(env),
    ...(profile && { profile }),
    ...(downloadAllow.length > 0 && { downloadAllow }),
  });
}

export function readBaseUrl(env?: Environment): string {
  const url = readSetting('VIDEO_API_BASE_URL', env);
  if (url !== undefined) return url;
  throw problemWith('VIDEO_API_BASE_URL', VIDEO_API_BASE_URL, 'is not set');
}

export function readApiKey(env: Environment = process.env): () => string {
  const key = readSecret('VIDEO_API_KEY', env);
  if (key !== undefined) return key;
  const problem = env.VIDEO_API_KEY === undefined ? 'is not set' : 'is empty';
  throw problemWith('VIDEO_API_KEY', VIDEO_API_KEY, problem);
}

/** Whether a video service is named. Without one, `generate` and `dev` use the emulator. */
export function namesAService(env: Environment = process.env): boolean {
  return withoutBlanks(env).VIDEO_API_BASE_URL !== undefined;
}

/** Whether commands on this machine use the emulator, because the settings name no service. */
export function usesEmulator(env: Environment = process.env): boolean {
  return !namesAService(env) && withoutBlanks(env).VIDEOGEN_SERVICES_FILE === undefined;
}

/** The services of the settings, whatever their keys and limits are; undefined for the emulator. */
export function servicesInUse(env?: Environment): string | undefined {
  const file = readSetting('VIDEOGEN_SERVICES_FILE', env);
  const unnamed = namesAService(env) ? readBaseUrl(env) : undefined;
  if (file === undefined) return unnamed;
  const named = Object.values(file.services).map(({ name, baseUrl, aiSdk }) => ({ name, baseUrl, aiSdk }));
  return JSON.stringify({ unnamed, default: file.default, named });
}

/** What can be read. A key that cannot be read is never sent, so nobody can quote it. */
export function ifReadable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** The keys of the file that can be read here, to hide them in what is shown. */
export function readableKeys(env?: Environment): string[] {
  const services = ifReadable(() =>
    Object.values(readSetting('VIDEOGEN_SERVICES_FILE', env)?.services ?? {}),
  );
  return services.flatMap((service) => ifReadable(() => [keyReader(service, env)()]));
}

/** Reads the key of a service of the file, at every call. Throws at once if it cannot be read. */
export function keyReader(
  service: Pick<ServiceInFile, 'name' | 'key'>,
  env: Environment = process.env,
): () => string {
  const { name, key } = service;
  const place = `services.${name}.key of VIDEOGEN_SERVICES_FILE`;
  const fix = 'put the key there as the service gave it, on one line';
  if ('file' in key) return secretFile(place, { fix, type: apiKey }, key.file);
  const type = apiKey.min(1, 'is not set');
  const secret = parseSecret(`${place} names ${key.env}, which`, { fix, type }, env[key.env] ?? '');
  return () => secret;
}
