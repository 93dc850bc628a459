import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseProfile } from './parse-profile';
import type { ServiceProfile } from './profile';

/** Those with `request` call the service itself; the others only know how it answers. */
export const BUILT_IN_PROFILES = [
  ...['ark', 'dashscope', 'fal', 'higgsfield', 'kie', 'kling', 'luma', 'runway', 'openai', 'minimax'],
  ...['pixverse', 'veo', 'wavespeed', 'xai'],
];

/** The build copies the folder, so it is next to this file in src and in dist. */
const FOLDER = join(__dirname, 'profiles');

/** The profile of this name; undefined if none is. */
export function builtInProfile(name: string): ServiceProfile | undefined {
  if (!BUILT_IN_PROFILES.includes(name)) return undefined;
  // Loaded only here, because it loads slowly.
  const yaml: typeof import('yaml') = require('yaml');
  const read = parseProfile(yaml.parse(readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')));
  if (!read.ok) throw new Error(`The built-in profile ${name} has a mistake: ${read.problem}.`);
  return read.profile;
}
