import { cleanText } from './clean-text';
import { toTemporalType } from './failure-table';

const LONGEST_REFUSAL = 2_000;

/** A decision about a lost submit that cannot be taken; the job goes on as before. */
export class DecisionRefused extends Error {
  override readonly name = 'DecisionRefused';

  constructor(message: string, options?: ErrorOptions) {
    super(describeRefusal(message), options);
  }
}

/** Its type as an ApplicationFailure, which is how it crosses Temporal. */
export const DECISION_REFUSED = toTemporalType('DecisionRefused');

/** Its sentence as it may stand anywhere: names of jobs and of items are in it. */
export function describeRefusal(sentence: string): string {
  return cleanText(sentence, LONGEST_REFUSAL);
}
