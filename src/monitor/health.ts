/** `starting` and `draining` are not ready either, but nothing is wrong. */
export type PartStatus = 'ok' | 'starting' | 'draining' | 'unready';

/** One thing that has to be so for the process to be ready, or, for `sdk`, to be alive. */
export interface HealthPart {
  part: 'polling' | 'temporal' | 'service' | 'gateway' | 'sdk';
  status: PartStatus;
  /** Why it is not ok, without secrets. */
  reason?: string;
  /** Milliseconds since 1970, if the part knows it better than who asks. */
  sinceMs?: number;
}

/** What /readyz and /livez answer. */
export interface HealthReport {
  status: PartStatus;
  parts: { part: HealthPart['part']; status: PartStatus; since: string; reason?: string }[];
}

/** The worst status says how the whole is. A process that drains is not starting any more. */
const WORST_FIRST: readonly PartStatus[] = ['unready', 'draining', 'starting', 'ok'];

/** Remembers since when each part is as it is. */
export class HealthHistory {
  private readonly seen = new Map<HealthPart['part'], { status: PartStatus; sinceMs: number }>();

  constructor(private readonly now: () => number = Date.now) {}

  /** Of parts with the same name, such as two workers of a process, the worst counts. */
  report(parts: readonly HealthPart[]): HealthReport {
    const worst = new Map<HealthPart['part'], HealthPart>();
    for (const one of parts) {
      const known = worst.get(one.part);
      if (known === undefined || rank(one) < rank(known)) worst.set(one.part, one);
    }
    const reported = [...worst.values()].map(({ part, status, reason, sinceMs }) => ({
      part,
      status,
      since: new Date(sinceMs ?? this.since(part, status)).toISOString(),
      ...(reason !== undefined && { reason }),
    }));
    const status = WORST_FIRST.find((one) => reported.some((part) => part.status === one)) ?? 'ok';
    return { status, parts: reported };
  }

  private since(part: HealthPart['part'], status: PartStatus): number {
    const before = this.seen.get(part);
    if (before?.status === status) return before.sinceMs;
    const sinceMs = this.now();
    this.seen.set(part, { status, sinceMs });
    return sinceMs;
  }
}

const rank = ({ status }: HealthPart) => WORST_FIRST.indexOf(status);
