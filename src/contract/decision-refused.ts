import { toTemporalType } from './failure-table';

/** A decision about a lost submit that cannot be taken; the job goes on as before. */
export class DecisionRefused extends Error {
  override readonly name = 'DecisionRefused';
}

/** Its type as an ApplicationFailure, which is how it crosses Temporal. */
export const DECISION_REFUSED = toTemporalType('DecisionRefused');
