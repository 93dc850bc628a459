import { randomBytes } from 'node:crypto';
import { checkName, shownValue } from './check-arguments';
import type { EmulatedCall, Faults } from './faults';
import { FAULT_NAMES, type FaultName, namedFault } from './named-faults';
import { seededRandom } from './seeded-random';

/** Random faults of the emulator. */
export interface ChaosOptions {
  /** How likely each call meets a fault, from 0 to 1. */
  rate: number;
  /** The same one again brings each call of a kind, the first, the second and so on, the same faults. */
  seed?: string;
  /** Which ones; those of CHAOS_FAULTS unless set. */
  faults?: readonly FaultName[];
}

/**
 * What may go wrong by chance. Not among them is what ends a task or takes minutes, and what could pass for an empty
 * video. Answers of submits are lost, for that is what chaos is for: the generation is counted all the same.
 */
export const CHAOS_FAULTS = [
  'submit:rate-limited',
  'submit:server-error',
  'submit:reset',
  'submit:reset-late',
  'submit:cut-headers',
  'submit:cut-body',
  'submit:bad-json',
  'submit:empty',
  'submit:late',
  'status:rate-limited',
  'status:server-error',
  'status:reset',
  'status:cut-headers',
  'status:cut-body',
  'status:bad-json',
  'status:empty',
  'status:late',
  'status:not-found',
  'status:unknown-state',
  'download:rate-limited',
  'download:server-error',
  'download:reset',
  'download:cut-headers',
  'download:cut',
  'download:stall',
  'download:web-page',
  'download:late',
  'retrieve:rate-limited',
  'retrieve:server-error',
  'retrieve:reset',
  'retrieve:cut-body',
  'retrieve:bad-json',
  'cancel:rate-limited',
  'cancel:server-error',
  'cancel:reset',
] as const satisfies readonly FaultName[];

/** Faults by chance, that can be had again. */
export class Chaos {
  readonly seed: string;
  private readonly rate: number;
  private readonly faults: readonly FaultName[];
  private readonly chance = new Map<EmulatedCall, () => number>();
  private readonly looked = new Set<string>();

  constructor({ rate, seed = randomBytes(4).toString('hex'), faults = CHAOS_FAULTS }: ChaosOptions) {
    if (!(rate >= 0 && rate <= 1)) {
      throw new RangeError(`The rate of chaos is ${shownValue(rate)}: give 0 to 1.`);
    }
    for (const name of faults) checkName('A fault of chaos', name, FAULT_NAMES);
    this.rate = rate;
    this.seed = seed;
    this.faults = faults;
  }

  /** `subject` is what the call is about: a task, for a look. */
  draw<Call extends EmulatedCall>(call: Call, subject: string): Faults[Call] | undefined {
    const random = this.chanceOf(call);
    // Both are drawn at every call, so that the next call's do not hang on what became of this one.
    const [whether, which] = [random(), random()];
    const first = this.isFirstLook(call, subject);
    if (whether >= this.rate) return undefined;
    const names = this.faults.filter((name) => name.startsWith(`${call}:`));
    const name = names[Math.floor(which * names.length)];
    // A service may not know a task that it has just made. Later that would be the loss of a paid one.
    if (name === undefined || (name === 'status:not-found' && !first)) return undefined;
    return namedFault(call, name.slice(call.length + 1));
  }

  private chanceOf(call: EmulatedCall): () => number {
    const known = this.chance.get(call);
    if (known) return known;
    const random = seededRandom(`${this.seed} ${call}`);
    this.chance.set(call, random);
    return random;
  }

  private isFirstLook(call: EmulatedCall, taskId: string): boolean {
    if (call !== 'status' || this.looked.has(taskId)) return false;
    this.looked.add(taskId);
    return true;
  }
}
