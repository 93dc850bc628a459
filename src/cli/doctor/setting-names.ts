import { SETTING_NAMES } from '../../config/all-settings';
import { type Environment, withoutBlanks } from '../../config/read-setting';
import { editDistance } from '../similar-names';

/** Temporal's settings that people type. There are more, so only a near miss is reported. */
const TEMPORAL_NAMES = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_API_KEY', 'TEMPORAL_PROFILE'];

const MOST_TYPOS = 2;

/** A variable that is set but not used, and the one that was probably meant. */
export interface UnknownSetting {
  name: string;
  meant?: string;
}

export function unknownSettings(env: Environment): UnknownSetting[] {
  return Object.keys(withoutBlanks(env)).flatMap((name) => {
    if (isNamed(name, SETTING_NAMES) || isNamed(name, TEMPORAL_NAMES)) return [];
    if (/^VIDEO(GEN|_API)_/.test(name)) return [{ name, meant: nearest(name) ?? sameWords(name) }];
    const meant = nearest(name, TEMPORAL_NAMES);
    return meant === undefined ? [] : [{ name, meant }];
  });
}

function isNamed(name: string, names: readonly string[]): boolean {
  return names.includes(name);
}

/** A misspelt name, such as one without a letter. */
function nearest(name: string, names: readonly string[] = SETTING_NAMES): string | undefined {
  const distances = names.map((known) => ({ known, distance: editDistance(known, name, MOST_TYPOS) }));
  const [best] = distances.sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= MOST_TYPOS ? best.known : undefined;
}

/** A name with some of the words of a setting. */
function sameWords(name: string): string | undefined {
  const words = wordsOf(name);
  if (words.length === 0) return undefined;
  return SETTING_NAMES.find((known) => words.every((word) => wordsOf(known).includes(word)));
}

function wordsOf(name: string): string[] {
  return name.split('_').filter((word) => word !== 'VIDEO' && word !== 'VIDEOGEN' && word !== '');
}
