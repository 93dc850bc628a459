import { randomBytes } from 'node:crypto';
import {
  CALLS,
  checkFaultName,
  type EmulatedCall,
  type FaultName,
  type Faults,
  faultsOn,
  isByChance,
  namedFault,
  showValue,
} from './faults';
import { seededRandom } from './seeded-random';

/** Random faults of the emulator. */
export interface ChaosOptions {
  /** The probability that a call meets a fault, from 0 to 1. */
  rate: number;
  /** Repeats a run: the first, second, … call of each kind meets the same faults again. Default: a random seed. */
  seed?: string;
  /** The faults to choose from. Default: those that `videogen emulator --help` marks with a star. */
  faults?: readonly FaultName[];
}

const FAULT_NAMES = CALLS.flatMap((call) => faultsOn(call).map((name) => ({ call, name })));
const nameOf = ({ call, name }: { call: EmulatedCall; name: string }): string => `${call}:${name}`;

/** The faults that chaos chooses from by default. */
const BY_CHANCE = FAULT_NAMES.filter(({ call, name }) => isByChance(call, name)).map(nameOf);

/** Random faults that a seed repeats. */
export class Chaos {
  readonly seed: string;
  private readonly rate: number;
  private readonly faults: readonly string[];
  private readonly randoms = new Map<EmulatedCall, () => number>();
  private readonly polled = new Set<string>();

  constructor({ rate, seed = randomBytes(4).toString('hex'), faults = [] }: ChaosOptions) {
    if (!(rate >= 0 && rate <= 1)) {
      throw new RangeError(`The rate of chaos is ${showValue(rate)}: give 0 to 1.`);
    }
    for (const name of faults) checkFaultName('A fault of chaos', name, FAULT_NAMES.map(nameOf));
    this.rate = rate;
    this.seed = seed;
    this.faults = faults.length > 0 ? faults : BY_CHANCE;
  }

  /** `taskId` is the task that the call is about, if it is about one. */
  draw<Call extends EmulatedCall>(call: Call, taskId = ''): Faults[Call] | undefined {
    const random = this.randoms.get(call) ?? seededRandom(`${this.seed} ${call}`);
    this.randoms.set(call, random);
    // Every call draws two numbers, so that the next call does not depend on what this one meets.
    const [chance, choice] = [random(), random()];
    const isFirstPoll = call === 'status' && !this.polled.has(taskId);
    if (isFirstPoll) this.polled.add(taskId);
    if (chance >= this.rate) return undefined;
    const names = this.faults.filter((name) => name.startsWith(`${call}:`));
    const name = names[Math.floor(choice * names.length)];
    // A service may not yet know a task that it just made. A later 404 would mean that a paid task is lost.
    if (name === undefined || (name === 'status:not-found' && !isFirstPoll)) return undefined;
    return namedFault(call, name.slice(call.length + 1));
  }
}
