import { ConfigError, type Environment } from '../config/read-setting';
import { keyReader, type ServiceInFile, type ServicesFile } from '../config/services-config';
import { createVideoService, type NamedServices, type ServiceWithKeys, type VideoService } from '../service';
import type { VideoStorage } from '../storage';
import { findAiSdkProblem, openAiSdkService } from './ai-sdk-entry';

/** The services of the file, each with its keys. Throws a ConfigError for a key that cannot be read. */
export function openServicesOfFile(
  file: ServicesFile,
  env: Environment | undefined,
  storage: VideoStorage,
): { services: NamedServices; ready(): Promise<void>; close(): Promise<void> } {
  const opened: VideoService[] = [];
  const open = (entry: ServiceInFile, key: string): VideoService => {
    const service = openServiceOfFile(entry, keyReader(file, key, env), storage);
    opened.push(service);
    return service;
  };
  const services = [...file.services].map(([name, entry]): [string, ServiceWithKeys] => {
    const { keys, submitsPerSecond, onLostSubmit } = entry;
    const [key = ''] = keys;
    const byKey = Object.fromEntries(keys.map((one) => [one, open(entry, one)]));
    return [name, { key, keys: byKey, submitsPerSecond, onLostSubmit }];
  });
  return {
    services: Object.fromEntries(services),
    ready: async () => {
      for (const [name, { aiSdk }] of file.services) {
        const problem = aiSdk && (await findAiSdkProblem(aiSdk));
        if (problem !== undefined)
          throw new ConfigError(`services.${name}.aiSdk of VIDEOGEN_SERVICES_FILE: ${problem}.`);
      }
    },
    close: async () => {
      await Promise.all(opened.map((service) => service.close()));
    },
  };
}

/** One service of the file with one of its keys. */
export function openServiceOfFile(
  { baseUrl, aiSdk, profile, downloadAllow }: ServiceInFile,
  apiKey: () => string,
  storage: VideoStorage,
): VideoService {
  const options = { apiKey, ...(profile && { profile }), ...(downloadAllow.length > 0 && { downloadAllow }) };
  if (aiSdk === undefined) return createVideoService({ baseUrl: baseUrl ?? '', ...options });
  const { package: name, model, baseUrl: address } = aiSdk;
  return openAiSdkService({
    package: name,
    model,
    ...(address !== undefined && { baseUrl: address }),
    ...options,
    storage,
  });
}
