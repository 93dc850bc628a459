import { readDownloadQueue, readSubmitsPerSecond, readTaskQueue } from '../../config/queues';
import {
  ConfigError,
  type Environment,
  namesAService,
  readDownloadAllow,
  readEmulatorKey,
  readLostSubmitPolicy,
  readProfile,
} from '../../config/service-config';
import {
  readConditionalPuts,
  readDownloadOptions,
  readKeyTemplate,
  readLargestVideo,
  readS3Connection,
  readSidecar,
  readStorageConfig,
} from '../../config/storage-config';
import {
  readDataFolder,
  readDeploymentVersion,
  readSearchAttributes,
  readServerOptions,
  readTemporalAddress,
  readTemporalConfig,
} from '../../config/temporal-config';
import { type Check, ok, wrong } from './check';
import { readBaseUrl, readKey } from './service-settings';

type Reader = (env: Environment) => unknown;

/** Without a service the emulator is used, which needs neither. */
const ofNamedService =
  (read: Reader): Reader =>
  (env) =>
    namesAService(env) ? read(env) : undefined;

/** By the readers of the settings, each asked apart so that one mistake does not hide another. */
export const SETTINGS: Record<string, readonly Reader[]> = {
  readServiceConfig: [ofNamedService(readBaseUrl), ofNamedService(readKey)],
  readEmulatorKey: [readEmulatorKey],
  readTaskQueue: [readTaskQueue],
  readLostSubmitPolicy: [readLostSubmitPolicy],
  readSubmitsPerSecond: [readSubmitsPerSecond],
  readDeploymentVersion: [readDeploymentVersion],
  readProfile: [readProfile],
  readSearchAttributes: [readSearchAttributes],
  readStorageConfig: [readStorageConfig],
  readS3Connection: [readS3Connection],
  readConditionalPuts: [readConditionalPuts],
  readDownloadOptions: [readDownloadOptions],
  readKeyTemplate: [readKeyTemplate],
  readLargestVideo: [readLargestVideo],
  readSidecar: [readSidecar],
  readDownloadQueue: [readDownloadQueue],
  readDownloadAllow: [readDownloadAllow],
  readTemporalConfig: [readTemporalConfig],
  readTemporalAddress: [readTemporalAddress],
  readServerOptions: [readServerOptions],
  readDataFolder: [readDataFolder],
};

export const checkSettings: Check = {
  name: 'settings',
  async run({ env }) {
    const readers = Object.values(SETTINGS).flat();
    const problems = new Set(readers.flatMap((read) => problemOf(() => read(env))));
    if (problems.size === 0) return ok('all can be read');
    const found = problems.size === 1 ? 'one of them is wrong' : `${problems.size} of them are wrong`;
    return wrong(found, [...problems].join('\n'));
  },
};

function problemOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
