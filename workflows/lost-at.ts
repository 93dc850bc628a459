import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { SubmitVerdict } from '../activities/submit/verdict';
import type { SentTo } from '../src/contract/service-choice';
import { readVerdict } from './fallback';

/** Where a lost submit is, if the activity says so beside its failure. */
export function lostAtOf(error: unknown): SentTo | undefined {
  const { service } = readVerdict(error);
  if (service) return { service };
  const { cause } = error instanceof ActivityFailure ? error : {};
  const [, ...more] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  const { isUnnamed }: Partial<Record<keyof SubmitVerdict, unknown>> = Object.assign({}, ...more.map(Object));
  return isUnnamed === true ? {} : undefined;
}
