import { resolve } from 'node:path';
import { settingProblems } from '../../config/all-settings';
import { withoutBlanks } from '../../config/read-setting';
import { ConfigError, type Environment } from '../../config/service-config';
import { usesEmulator } from '../../config/services-config';
import { readDataFolder, readTemporalAddress } from '../../config/temporal-config';
import { shown } from '../../contract/clean-text';
import { checkDataFolder } from '../data-folder';
import { type Check, type Finding, failed, ok, warning } from './check';
import { unknownSettings } from './setting-names';

export const checkSettings: Check = {
  name: 'settings',
  async run({ env }) {
    const unknown = unknownSettings(env);
    const unused = unknown.filter(({ meant }) => meant === undefined).map(({ name }) => name);
    const problems = new Set([
      ...settingProblems(env),
      ...keyWithoutService(env),
      ...(await dataFolderProblem(env)),
      ...unknown.flatMap(({ name, meant }) => (meant ? [misspelt(name, meant)] : [])),
    ]);
    if (problems.size === 0) return unused.length === 0 ? ok('all are valid') : warnOfUnused(unused);
    const found = problems.size === 1 ? 'one is invalid' : `${problems.size} are invalid`;
    return failed(found, [...problems].join('\n'));
  },
};

function misspelt(name: string, meant: string): string {
  return `${shown(name)} is not a setting: did you mean ${meant}?`;
}

/** Only a warning: other programs may use them. */
function warnOfUnused(names: string[]): Finding {
  const list = names.map(shown).join(', ');
  return warning(`all are valid; not used: ${list}`, 'Correct the name, or unset the variable.');
}

/** A key without a service is a mistake: the videos would silently come from the emulator. */
function keyWithoutService(env: Environment): string[] {
  const { VIDEO_API_KEY, VIDEO_API_KEY_FILE } = withoutBlanks(env);
  if (!usesEmulator(env) || (VIDEO_API_KEY ?? VIDEO_API_KEY_FILE) === undefined) return [];
  const variable = VIDEO_API_KEY === undefined ? 'VIDEO_API_KEY_FILE' : 'VIDEO_API_KEY';
  return [
    `${variable} is set, but VIDEO_API_BASE_URL is not: set it to the address of the video service, such as https://api.example.com, or unset ${variable} to use the emulator.`,
  ];
}

/** Only a server that we start uses the data folder. */
async function dataFolderProblem(env: Environment): Promise<string[]> {
  try {
    if (readTemporalAddress(env) === undefined) await checkDataFolder(resolve(readDataFolder(env)));
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
