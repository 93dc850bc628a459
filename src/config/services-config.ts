import { z } from 'zod';
import type { KnownService, KnownServices } from '../contract/service-choice';
import { secretFile } from './read-files';
import {
  ConfigError,
  type Environment,
  readerOf,
  type SettingGroup,
  text,
  withoutBlanks,
} from './read-setting';
import { API_KEY, namesAService, readBaseUrl } from './service-config';
import { readServicesFile, type ServiceInFile, type ServicesFile } from './services-file';

export type { ServiceInFile, ServicesFile } from './services-file';

const servicesFile = text.transform((file, { addIssue }): ServicesFile => {
  const read = readServicesFile(file);
  if (typeof read !== 'string') return read;
  addIssue(read);
  return z.NEVER;
});

export const SERVICES_SETTINGS = {
  VIDEOGEN_SERVICES_FILE: {
    type: servicesFile.optional(),
    meaning: 'Several services with names: a YAML or JSON file, for workers and those who start jobs.',
    page: 'several-services.md',
    unset: 'only the service in `VIDEO_API_BASE_URL`',
    fix: 'correct the file as docs/several-services.md shows it, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(SERVICES_SETTINGS);

/** The services of the file in `VIDEOGEN_SERVICES_FILE`, without their keys; undefined without it. */
export function readServices(env?: Environment): ServicesFile | undefined {
  return read('VIDEOGEN_SERVICES_FILE', env);
}

/** Whether commands on this machine use the emulator, because the settings name no service. */
export function usesEmulator(env: Environment = process.env): boolean {
  return !namesAService(env) && withoutBlanks(env).VIDEOGEN_SERVICES_FILE === undefined;
}

/** The services of the settings, whatever their keys and limits are; undefined for the emulator. */
export function servicesInUse(env?: Environment): string | undefined {
  const file = readServices(env);
  const unnamed = namesAService(env) ? readBaseUrl(env) : undefined;
  if (file === undefined) return unnamed;
  const named = [...file.services.values()].map(({ name, baseUrl, aiSdk }) => ({ name, baseUrl, aiSdk }));
  return JSON.stringify({ unnamed, default: file.default, named });
}

/** What the file says about a service to those who start jobs. */
export interface ServiceOfFile extends KnownService {
  profile: ServiceInFile['profile'];
}

/** The same, for those who start jobs. */
export function readKnownServices(env?: Environment): KnownServices<ServiceOfFile> | undefined {
  const file = readServices(env);
  if (file === undefined) return undefined;
  const services = [...file.services].map(([name, { profile }]): [string, ServiceOfFile] => [
    name,
    { profile, requestFields: profile?.requestFields ?? [] },
  ]);
  return { services: Object.fromEntries(services), default: file.default };
}

/** The keys of the file that can be read here, to hide them in what is shown. */
export function readableKeys(env?: Environment): string[] {
  // A key that cannot be read is never sent, so nobody can quote it.
  const ifReadable = <T>(read: () => T[]): T[] => {
    try {
      return read();
    } catch {
      return [];
    }
  };
  const services = ifReadable(() => [...(readServices(env)?.services.values() ?? [])]);
  return services.flatMap((service) => ifReadable(() => [keyReader(service, env)()]));
}

/** Reads the key of a service of the file, at every call. Throws at once if it cannot be read. */
export function keyReader(
  service: Pick<ServiceInFile, 'name' | 'key'>,
  env: Environment = process.env,
): () => string {
  const { name, key } = service;
  const place = `services.${name}.key of VIDEOGEN_SERVICES_FILE`;
  if ('file' in key) {
    const fix = 'name a file that can be read and has the key in it, on one line';
    return secretFile(place, { fix }, { file: key.file, type: API_KEY });
  }
  const value = env[key.env]?.trim() ?? '';
  const parsed = API_KEY.safeParse(value);
  const problem = value === '' ? 'is not set' : parsed.success ? undefined : parsed.error.issues[0]?.message;
  if (problem === undefined) return () => value;
  throw new ConfigError(
    `${place} names ${key.env}, which ${problem}: set it to the key as the service gave it, on one line.`,
  );
}
