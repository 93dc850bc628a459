import { randomBytes } from 'node:crypto';
import { checkName, showValue } from './check-arguments';
import type { EmulatedCall, Faults } from './faults';
import { FAULT_NAMES, type FaultName, namedFault } from './named-faults';
import { seededRandom } from './seeded-random';

/** Random faults of the emulator. */
export interface ChaosOptions {
  /** The probability that a call meets a fault, from 0 to 1. */
  rate: number;
  /** Repeats a run: the first, second, … call of each kind meets the same faults again. Random unless set. */
  seed?: string;
  /** The faults to choose from; CHAOS_FAULTS unless set. */
  faults?: readonly FaultName[];
}

/**
 * The faults that chaos chooses from. It leaves out those that end a task, take minutes or could pass for an empty
 * video. It includes lost answers to submits, whose generations still count.
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

/** Random faults that a seed repeats. */
export class Chaos {
  readonly seed: string;
  private readonly rate: number;
  private readonly faults: readonly FaultName[];
  private readonly randoms = new Map<EmulatedCall, () => number>();
  private readonly polled = new Set<string>();

  constructor({ rate, seed = randomBytes(4).toString('hex'), faults = CHAOS_FAULTS }: ChaosOptions) {
    if (!(rate >= 0 && rate <= 1)) {
      throw new RangeError(`The rate of chaos is ${showValue(rate)}: give 0 to 1.`);
    }
    for (const name of faults) checkName('A fault of chaos', name, FAULT_NAMES);
    this.rate = rate;
    this.seed = seed;
    this.faults = faults;
  }

  /** `subject` is what the call is about: for a poll, the task id. */
  draw<Call extends EmulatedCall>(call: Call, subject: string): Faults[Call] | undefined {
    const random = this.randomFor(call);
    // Every call draws two numbers, so that the next call does not depend on what this one meets.
    const [chance, choice] = [random(), random()];
    const isFirstPoll = this.isFirstPoll(call, subject);
    if (chance >= this.rate) return undefined;
    const names = this.faults.filter((name) => name.startsWith(`${call}:`));
    const name = names[Math.floor(choice * names.length)];
    // A service may not yet know a task that it just made. A later 404 would mean that a paid task is lost.
    if (name === undefined || (name === 'status:not-found' && !isFirstPoll)) return undefined;
    return namedFault(call, name.slice(call.length + 1));
  }

  private randomFor(call: EmulatedCall): () => number {
    const known = this.randoms.get(call);
    if (known) return known;
    const random = seededRandom(`${this.seed} ${call}`);
    this.randoms.set(call, random);
    return random;
  }

  private isFirstPoll(call: EmulatedCall, taskId: string): boolean {
    if (call !== 'status' || this.polled.has(taskId)) return false;
    this.polled.add(taskId);
    return true;
  }
}
