import { ConfigError, type Environment } from '../config/read-setting';
import { keyReader, type ServiceInFile, type ServicesFile } from '../config/services-config';
import { createVideoService, type NamedService, type OpenedVideoService } from '../service';
import { findAiSdkProblem, openAiSdkService } from './ai-sdk-entry';

/** The services of the file. Throws a ConfigError for a key that cannot be read. */
export function openServicesOfFile(
  file: ServicesFile,
  env: Environment | undefined,
): { services: Record<string, NamedService>; ready(): Promise<void>; close(): Promise<void> } {
  const opened = [...file.services].map(([name, entry]) => {
    const { submitsPerSecond, onLostSubmit } = entry;
    const service = openServiceOfFile(entry, keyReader(entry, env));
    return [name, { service, submitsPerSecond, onLostSubmit }] as const;
  });
  return {
    services: Object.fromEntries(opened),
    ready: async () => {
      for (const [name, { aiSdk }] of file.services) {
        const problem = aiSdk && (await findAiSdkProblem(aiSdk));
        if (problem !== undefined)
          throw new ConfigError(`services.${name}.aiSdk of VIDEOGEN_SERVICES_FILE: ${problem}.`);
      }
    },
    close: async () => {
      await Promise.all(opened.map(([, { service }]) => service.close()));
    },
  };
}

/** One service of the file with its key. */
export function openServiceOfFile(
  { baseUrl, aiSdk, profile, downloadAllow }: ServiceInFile,
  apiKey: () => string,
): OpenedVideoService {
  const options = { apiKey, ...(profile && { profile }), ...(downloadAllow.length > 0 && { downloadAllow }) };
  if (aiSdk === undefined) return createVideoService({ baseUrl: baseUrl ?? '', ...options });
  const { package: name, model, baseUrl: address } = aiSdk;
  return openAiSdkService({
    package: name,
    model,
    ...(address !== undefined && { baseUrl: address }),
    ...options,
  });
}
