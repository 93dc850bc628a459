import type { Target } from './target';
import { answers } from './targets/answers';
import { batchInputs, jobInputs } from './targets/inputs';
import { profiles } from './targets/profiles';
import { storageKeys } from './targets/storage-keys';
import { videos } from './targets/videos';

/** Everything that others feed. */
export const TARGETS = {
  'job inputs': jobInputs,
  'batch inputs': batchInputs,
  profiles,
  answers,
  videos,
  'storage keys': storageKeys,
};

export type TargetName = keyof typeof TARGETS;

type InputOf<T> = T extends Target<infer Input> ? Input : never;

/** An input that once was a finding. */
export type Case = {
  [Name in TargetName]: { target: Name; name: string; input: InputOf<(typeof TARGETS)[Name]> };
}[TargetName];
