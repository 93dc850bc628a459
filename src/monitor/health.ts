/** `starting` and `draining` are not ready either, but nothing is wrong. */
export type PartStatus = 'ok' | 'starting' | 'draining' | 'unready';

/** One thing that has to be so for the process to be ready, or, for `sdk`, to be alive. */
export interface HealthPart {
  part: 'polling' | 'temporal' | 'service' | 'gateway' | 'sdk';
  /** Of several services: the name of this one. */
  service?: string;
  status: PartStatus;
  /** Why it is not ok, without secrets. */
  reason?: string;
  /** Milliseconds since 1970, if the part knows it better than who asks. */
  sinceMs?: number;
}

/** What /readyz and /livez answer. */
export interface HealthReport {
  status: PartStatus;
  parts: { part: HealthPart['part']; service?: string; status: PartStatus; since: string; reason?: string }[];
}

/** The worst status says how the whole is. A process that drains is not starting any more. */
const WORST_FIRST: readonly PartStatus[] = ['unready', 'draining', 'starting', 'ok'];

/** Remembers since when each part is as it is. */
export class HealthHistory {
  private readonly seen = new Map<string, { status: PartStatus; sinceMs: number }>();

  constructor(private readonly now: () => number = Date.now) {}

  /**
   * Of parts with the same name, such as two workers of a process, the worst counts. Of several services one is enough: the jobs
   * of the others go on.
   */
  report(parts: readonly HealthPart[]): HealthReport {
    const worst = new Map<string, HealthPart>();
    for (const one of parts) {
      const known = worst.get(idOf(one));
      if (known === undefined || rank(one) < rank(known)) worst.set(idOf(one), one);
    }
    const reported = [...worst.values()].map((one) => ({
      part: one.part,
      ...(one.service !== undefined && { service: one.service }),
      status: one.status,
      since: new Date(one.sinceMs ?? this.since(one)).toISOString(),
      ...(one.reason !== undefined && { reason: one.reason }),
    }));
    const isServed = reported.some(({ part, status }) => part === 'service' && status === 'ok');
    const counted = reported.filter(({ part, status }) => part !== 'service' || status === 'ok' || !isServed);
    const status = WORST_FIRST.find((one) => counted.some((part) => part.status === one)) ?? 'ok';
    return { status, parts: reported };
  }

  private since(one: HealthPart): number {
    const before = this.seen.get(idOf(one));
    if (before?.status === one.status) return before.sinceMs;
    const sinceMs = this.now();
    this.seen.set(idOf(one), { status: one.status, sinceMs });
    return sinceMs;
  }
}

const idOf = ({ part, service = '' }: HealthPart) => `${part}/${service}`;

const rank = ({ status }: HealthPart) => WORST_FIRST.indexOf(status);
