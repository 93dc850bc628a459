import type { LostSubmitPolicy } from '../../src/contract/lost-submit';
import { choiceId, type SentTo, type ServiceChoice, sentTo } from '../../src/contract/service-choice';
import type { FindTools, ServiceTools } from '../service-tools';
import type { SubmitVerdict } from './verdict';

/** Where the lost submit of a job is. Only that service, with that key, knows its task and its idempotency key. */
export class LostAt {
  /** It may not be the service, or the key, that this attempt would use. */
  isElsewhere = false;
  private place: SentTo | undefined;

  constructor(
    private readonly find: FindTools,
    private readonly tools: ServiceTools,
  ) {}

  note(place: SentTo): void {
    this.place = place;
    this.isElsewhere = this.find(place.service) !== this.tools;
  }

  /** Nobody knows which one it is, and it may be another one. */
  noteUnknown(): void {
    this.place = undefined;
    this.isElsewhere = true;
  }

  /** At another service or account, a resubmit would be paid again. */
  policyHere(onLostSubmit: LostSubmitPolicy): LostSubmitPolicy {
    return this.isElsewhere && onLostSubmit === 'resubmit' ? 'hold' : onLostSubmit;
  }

  /** Whoever looks for the task must know where, if it is not the service that the job names now. */
  describe(lostSubmit: string): string {
    return this.place && this.isElsewhere ? `${lostSubmit} (it went to ${this.described})` : lostSubmit;
  }

  /** Where it is, for the workflow; at the service of this attempt unless it is known to be elsewhere. */
  get verdict(): SubmitVerdict {
    const { service } = this.place ?? sentTo(this.tools.choice);
    return service ? { service } : { isUnnamed: true };
  }

  private get described(): string {
    const { service } = this.place ?? {};
    if (service === undefined) return 'the service without a name';
    const { name, key } = service;
    return name === this.tools.choice?.name && key !== undefined
      ? `the service ${name} with the key ${key}`
      : `the service ${name}`;
  }
}

/** The job has left the service, or the key, to the worker, which may choose another one next time. */
export function isWorkersChoice(asked: ServiceChoice | undefined, used: ServiceChoice | undefined): boolean {
  return asked === undefined || used === undefined || choiceId(asked) !== choiceId(used);
}
