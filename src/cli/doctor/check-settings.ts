import { resolve } from 'node:path';
import { settingProblems } from '../../config/all-settings';
import { withoutBlanks } from '../../config/read-setting';
import { ConfigError, type Environment, namesAService } from '../../config/service-config';
import { readDataFolder, readTemporalAddress } from '../../config/temporal-config';
import { shown } from '../../contract';
import { checkDataFolder } from '../data-folder';
import { type Check, type Finding, ok, warning, wrong } from './check';
import { unknownSettings } from './setting-names';

export const checkSettings: Check = {
  name: 'settings',
  async run({ env }) {
    const unknown = unknownSettings(env);
    const strangers = unknown.filter(({ meant }) => meant === undefined).map(({ name }) => name);
    const problems = new Set([
      ...settingProblems(env),
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
