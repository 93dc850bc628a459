import { resolve } from 'node:path';
import {
  ConfigError,
  type Environment,
  namesAService,
  readDownloadAllow,
  readEmulatorKey,
  readLostSubmitPolicy,
  readProfile,
  withoutBlanks,
} from '../../config/service-config';
import {
  readConditionalPuts,
  readDownloadOptions,
  readDownloadQueue,
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
  readSubmitsPerSecond,
  readTaskQueue,
  readTemporalAddress,
  readTemporalConfig,
} from '../../config/temporal-config';
import { shown } from '../../contract';
import { checkDataFolder } from '../data-folder';
import { type Check, type Finding, ok, warning, wrong } from './check';
import { readBaseUrl, readKey } from './service-settings';
import { unknownSettings } from './setting-names';

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
    const unknown = unknownSettings(env);
    const strangers = unknown.filter(({ meant }) => meant === undefined).map(({ name }) => name);
    const problems = new Set([
      ...readers.flatMap((read) => problemOf(() => read(env))),
      ...keyWithoutService(env),
      ...(await dataFolderProblem(env)),
      ...unknown.flatMap(({ name, meant }) => (meant ? [misspelt(name, meant)] : [])),
    ]);
    if (problems.size === 0) return strangers.length === 0 ? ok('all can be read') : notRead(strangers);
    const found = problems.size === 1 ? 'one of them is wrong' : `${problems.size} of them are wrong`;
    return wrong(found, [...problems].join('\n'));
  },
};

function misspelt(name: string, meant: string): string {
  return `${shown(name)} is not a setting: did you mean ${meant}?`;
}

/** Others may have set them for something of their own. */
function notRead(names: string[]): Finding {
  const told = names.map(shown).join(', ');
  return warning(
    `all can be read; nothing reads ${told}`,
    'Unset what you do not need, or correct its name.',
  );
}

/** Whoever has a key means a service, and would have videos of the emulator without a word. */
function keyWithoutService(env: Environment): string[] {
  const { VIDEO_API_KEY, VIDEO_API_KEY_FILE } = withoutBlanks(env);
  if (namesAService(env) || (VIDEO_API_KEY ?? VIDEO_API_KEY_FILE) === undefined) return [];
  const variable = VIDEO_API_KEY === undefined ? 'VIDEO_API_KEY_FILE' : 'VIDEO_API_KEY';
  return [
    `${variable} is set, and VIDEO_API_BASE_URL is not: set that to the address of the video service, such as https://api.example.com, or unset ${variable} to use the emulator.`,
  ];
}

/** Only a server of our own has a data folder. */
async function dataFolderProblem(env: Environment): Promise<string[]> {
  try {
    if (readTemporalAddress(env) === undefined) await checkDataFolder(resolve(readDataFolder(env)));
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}

function problemOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
