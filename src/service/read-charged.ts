import type { TaskState } from '../contract/job';
import { AMOUNT_RULE, isAmount, type Money, money } from '../contract/money';
import { describeValue } from '../contract/redact-links';
import { type Found, valuesIn } from './answer-paths';
import type { Read } from './read-values';
import type { ChargedPath } from './reading-rules';

export interface ReadCharge {
  charged?: Read<Money>;
  /** Why a value that should say the cost was ignored, a sentence each. */
  doubts: string[];
}

/** Before the end of a task, services say what they hold or expect, and correct it later. */
const ENDED: readonly TaskState[] = ['succeeded', 'failed', 'cancelled'];

/** A list of costs is not one. */
const MOST_DOUBTS = 3;

/** What the service says that an ended task cost. Whatever is not a plain amount is ignored: the video matters more. */
export function readCharged(
  bodies: readonly Found[],
  state: TaskState,
  paths: readonly ChargedPath[],
): ReadCharge {
  const doubts: string[] = [];
  if (!ENDED.includes(state)) return { doubts };
  for (const { path: wanted, currency, divideBy = 1 } of paths) {
    for (const { value, path } of valuesIn(bodies, [wanted])) {
      const amount = typeof value === 'number' ? value / divideBy : value;
      if (isAmount(amount)) return { charged: { value: money(amount, currency), path }, doubts };
      // Services send null for what they do not know.
      if (value != null && doubts.length < MOST_DOUBTS)
        doubts.push(`${path} is ${describeValue(value)}, and a cost ${AMOUNT_RULE}`);
    }
  }
  return { doubts };
}
