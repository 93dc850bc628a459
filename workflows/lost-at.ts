import type { SentTo } from '../src/contract/service-choice';
import { readVerdict } from './fallback';

/** Where a lost submit is, if the activity says so beside its failure. */
export function lostAtOf(error: unknown): SentTo | undefined {
  const { service, isUnnamed } = readVerdict(error);
  if (service) return { service };
  return isUnnamed ? {} : undefined;
}
