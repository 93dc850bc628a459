import { z } from 'zod';
import { shown } from '../contract/clean-text';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../contract/lost-submit';
import type { VideoServiceOptions } from '../service';
import { BUILT_IN_PROFILES, builtInProfile } from '../service/built-in-profiles';
import { parseProfile } from '../service/parse-profile';
import type { ServiceProfile } from '../service/profile';
import { readYamlFile, secretIfSet } from './read-files';
import {
  type Environment,
  HOSTS_FIX,
  hosts,
  parsed,
  problemWith,
  quoted,
  readerOf,
  type SettingGroup,
  serviceUrl,
  text,
  withoutBlanks,
} from './read-setting';

export { ConfigError, type Environment } from './read-setting';

/** Its value is never shown. */
export const API_KEY = text.regex(
  /^[\x21-\x7e]*$/,
  'holds a space, a line break or a character outside ASCII',
);

export const SERVICE_SETTINGS = {
  VIDEO_API_BASE_URL: {
    type: serviceUrl.optional(),
    meaning: 'Address of the video service.',
    unset: 'required by a worker',
    fix: 'set it to the address of the video service, such as https://api.example.com',
  },
  VIDEO_API_KEY: {
    type: API_KEY.optional(),
    meaning: "Its key, sent as Bearer to the service's own origin and nowhere else.",
    unset: 'required by a worker',
    isSecret: true,
    fix: 'set it to the key as the service gave it, on one line, or set VIDEO_API_KEY_FILE to a file with it',
  },
  VIDEOGEN_PROFILE: {
    type: parsed((name) => readProfileNamed(name)).optional(),
    meaning:
      'How the service differs from the interface: a profile by name, or a JSON or YAML file. [More](other-services.md)',
    unset: 'none',
    fix: `name one of ${Object.keys(BUILT_IN_PROFILES).join(', ')}, or a correct JSON or YAML file`,
  },
  VIDEOGEN_ON_LOST_SUBMIT: {
    type: text.pipe(z.enum(LOST_SUBMIT_POLICIES, quoted)).default('hold'),
    meaning: 'What a worker does about a lost submit: `hold`, `resubmit` or `fail`. [More](lost-submits.md)',
    fix: `set it to one of ${LOST_SUBMIT_POLICIES.join(', ')}, or unset it for hold`,
  },
  VIDEOGEN_DOWNLOAD_ALLOW: {
    type: hosts.default([]),
    meaning:
      'Hosts, separated by commas, whose videos may be at private addresses or without TLS. [More](downloads-and-storage.md#which-addresses-a-worker-opens)',
    unset: 'none',
    fix: HOSTS_FIX,
  },
} satisfies SettingGroup;

const read = readerOf(SERVICE_SETTINGS);

/** Where the video service is, and its key. A key in a file is read at every call, so that it can be rotated. */
export function readServiceConfig(env?: Environment): VideoServiceOptions {
  const profile = readProfile(env);
  const downloadAllow = read('VIDEOGEN_DOWNLOAD_ALLOW', env);
  return Object.freeze({
    baseUrl: readBaseUrl(env),
    apiKey: readApiKey(env),
    ...(profile && { profile }),
    ...(downloadAllow.length > 0 && { downloadAllow }),
  });
}

export function readBaseUrl(env?: Environment): string {
  const url = read('VIDEO_API_BASE_URL', env);
  if (url !== undefined) return url;
  throw problemWith('VIDEO_API_BASE_URL', SERVICE_SETTINGS.VIDEO_API_BASE_URL, 'is not set');
}

export function readApiKey(env: Environment = process.env): () => string {
  const setting = SERVICE_SETTINGS.VIDEO_API_KEY;
  const key = secretIfSet('VIDEO_API_KEY', setting, env);
  if (key !== undefined) return key;
  const problem = env.VIDEO_API_KEY === undefined ? 'is not set' : 'is empty';
  throw problemWith('VIDEO_API_KEY', setting, problem);
}

/** How the service differs from the interface; undefined when it does not. */
export function readProfile(env?: Environment): ServiceProfile | undefined {
  return read('VIDEOGEN_PROFILE', env);
}

/** A built-in profile by its name, or that of a file; or what is wrong with it. */
export function readProfileNamed(name: string, folder?: string): ServiceProfile | string {
  const builtIn = builtInProfile(name);
  if (builtIn) return builtIn;
  const given = readYamlFile(name, { folder, not: 'neither a built-in profile nor' });
  if (!given.ok) return given.problem;
  const read = parseProfile(given.value);
  return read.ok ? read.profile : `names ${shown(name)}, a profile with a mistake (${read.problem})`;
}

/** What a worker does about a lost submit of a job that does not say it itself. */
export function readLostSubmitPolicy(env?: Environment): LostSubmitPolicy {
  return read('VIDEOGEN_ON_LOST_SUBMIT', env);
}

/** Whether a video service is named. Without one, `generate` and `dev` use the emulator. */
export function namesAService(env: Environment = process.env): boolean {
  return withoutBlanks(env).VIDEO_API_BASE_URL !== undefined;
}

/** The key that the emulator asks for, if one is set; otherwise it makes its own. */
export function readKeyIfSet(env?: Environment): string | undefined {
  return secretIfSet('VIDEO_API_KEY', SERVICE_SETTINGS.VIDEO_API_KEY, env)?.();
}
