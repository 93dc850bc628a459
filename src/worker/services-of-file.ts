import { ConfigError, type Environment } from '../config/read-setting';
import { keyReader } from '../config/service-config';
import type { ServiceInFile, ServicesFile } from '../config/services-file';
import { createVideoService, type NamedService, type OpenedVideoService } from '../service';

/** Only a worker with such a service loads anything of the AI SDK. */
export const aiSdk = (): typeof import('../ai-sdk/load-ai-sdk-service') =>
  require('../ai-sdk/load-ai-sdk-service');

/** The services of the file. Throws a ConfigError for a key that cannot be read. */
export function openServicesOfFile(
  file: ServicesFile,
  env: Environment | undefined,
): { services: Record<string, NamedService>; ready(): Promise<void>; close(): Promise<void> } {
  const opened = [...file.services].map(([name, entry]) => {
    const { submitsPerSecond, onLostSubmit } = entry;
    return [name, { service: openServiceOfFile(entry, env), submitsPerSecond, onLostSubmit }] as const;
  });
  return {
    services: Object.fromEntries(opened),
    ready: async () => {
      for (const [name, { aiSdk: model }] of file.services) {
        const problem = model && (await aiSdk().findAiSdkProblem(model));
        if (problem !== undefined)
          throw new ConfigError(`services.${name}.aiSdk of VIDEOGEN_SERVICES_FILE: ${problem}.`);
      }
    },
    close: async () => {
      await Promise.all(opened.map(([, { service }]) => service.close()));
    },
  };
}

function openServiceOfFile(entry: ServiceInFile, env: Environment | undefined): OpenedVideoService {
  const { baseUrl = '', aiSdk: model, profile, downloadAllow } = entry;
  const apiKey = keyReader(entry, env);
  const options = { apiKey, ...(profile && { profile }), ...(downloadAllow.length > 0 && { downloadAllow }) };
  return model
    ? aiSdk().loadAiSdkService({ ...model, ...options })
    : createVideoService({ baseUrl, ...options });
}
