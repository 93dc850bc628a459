import { seededRandom } from '../../src/testing/seeded-random';
import type { LineTrouble } from './line';

export interface PlanOptions {
  seed: string;
  jobs: number;
  /** How long the interference lasts. */
  lengthMs: number;
  workers: number;
  gateways: number;
  hasDatabase: boolean;
}

/** What is done to a job while it runs. */
export type Interference =
  | { kind: 'cancel'; atMs: number }
  /** Its worker is killed after its POST, and it is cancelled while its submit waits for the next attempt. */
  | { kind: 'cancel-in-backoff' }
  | { kind: 'terminate'; atMs: number }
  /** Before anybody was told of its task. */
  | { kind: 'terminate-after-post' }
  | { kind: 'reset'; atMs: number }
  /** Its caller dies, and starts it again under its name. */
  | { kind: 'caller-dies'; atMs: number };

export type JobKind = 'single' | 'gateway' | 'fallback' | 'batch';

export interface PlannedJob {
  kind: JobKind;
  /** The workflow id; of a job of a gateway its idempotency key. */
  name: string;
  /** One for each video; only a batch has several. No other job has them. */
  prompts: string[];
  startAtMs: number;
  resubmits: boolean;
  interference?: Interference;
}

/** What is done to a part of the whole, and when. */
export type PlannedEvent = { atMs: number } & (
  | { kind: 'kill'; part: string; downMs: number }
  /** The worker that makes the next POST, so long after it. */
  | { kind: 'kill-after-post'; afterMs: number; downMs: number }
  | { kind: 'freeze'; part: string; ms: number }
  /** Between the connection of a POST and its first byte, for longer than Temporal waits for a heartbeat. */
  | { kind: 'freeze-at-post'; worker: number; ms: number }
  | { kind: 'line'; line: string; trouble: LineTrouble }
  | { kind: 'disk'; worker: number; disk: 'ENOSPC' | 'EIO' | 'slow' | 'stall'; ms: number }
  /** Workers and gateways start again with the next step of the rotation of the encryption key. */
  | { kind: 'rotate-key' }
);

export interface Plan extends PlanOptions {
  planned: PlannedJob[];
  events: readonly PlannedEvent[];
}

const ITEMS = 5;
/** Jobs start until shortly before the interference ends. */
const STARTS_SHARE = 0.85;

export const numbersTo = (length: number) => Array.from({ length }, (_, index) => index + 1);
export const workerName = (number: number) => `worker-${number}`;
export const gatewayName = (number: number) => `gateway-${number}`;

/** All that is random follows from the seed, but for how the programs and their times coincide. */
export function makePlan(options: PlanOptions): Plan {
  const random = seededRandom(`chaos ${options.seed}`);
  const between = (least: number, most: number) => Math.floor(least + random() * (most - least + 1));
  const oneOf = <T>(things: readonly T[]): T => things[between(0, things.length - 1)] as T;
  const { seed, jobs, lengthMs, workers, gateways, hasDatabase } = options;

  const planned: PlannedJob[] = [];
  const interferenceFor = (kind: JobKind): Interference | undefined => {
    const dice = random();
    const atMs = between(0, 3_500);
    if (kind === 'batch') return dice < 0.4 ? { kind: 'terminate', atMs } : undefined;
    if (dice < 0.05) return { kind: 'cancel', atMs };
    if (kind === 'gateway') return undefined;
    if (dice < 0.1) return { kind: 'terminate', atMs: atMs / 2 };
    if (dice < 0.14) return { kind: 'terminate-after-post' };
    if (kind === 'fallback') return undefined;
    if (dice < 0.18) return { kind: 'reset', atMs };
    if (dice < 0.25) return { kind: 'caller-dies', atMs };
    return dice < 0.28 ? { kind: 'cancel-in-backoff' } : undefined;
  };
  for (let videos = 0, number = 0; videos < jobs; number++) {
    const dice = random();
    const isBatch = jobs - videos >= ITEMS && dice < 0.05;
    const other = dice < 0.27 ? (gateways > 0 ? 'gateway' : 'single') : dice < 0.39 ? 'fallback' : 'single';
    const kind = isBatch ? 'batch' : other;
    const count = kind === 'batch' ? ITEMS : 1;
    const of = kind === 'batch' ? (item: number) => `, clip ${item + 1}` : () => '';
    planned.push({
      kind,
      name: `chaos-${seed}-${number}`,
      prompts: Array.from({ length: count }, (_, item) => `Film ${number} of ${seed}${of(item)}`),
      startAtMs: between(0, lengthMs * STARTS_SHARE),
      resubmits: kind === 'single' && random() < 0.1,
      interference: interferenceFor(kind),
    });
    videos += count;
  }

  const events: PlannedEvent[] = [];
  /** About every so often, and once at least. */
  const often = (everyMs: number, add: (atMs: number) => PlannedEvent) => {
    for (let left = Math.max(1, Math.round(lengthMs / everyMs)); left > 0; left--)
      events.push(add(between(lengthMs * 0.04, lengthMs * 0.92)));
  };
  const downMs = () => between(0, 1_500);
  often(24_000 / workers, (atMs) => ({
    kind: 'kill-after-post',
    atMs,
    afterMs: between(0, 300),
    downMs: downMs(),
  }));
  for (const worker of numbersTo(workers)) {
    const part = workerName(worker);
    often(60_000, (atMs) => ({ kind: 'kill', part, atMs, downMs: downMs() }));
    often(60_000, (atMs) => ({ kind: 'freeze', part, atMs, ms: between(500, 7_000) }));
    const disk = () => oneOf(['ENOSPC', 'EIO', 'slow', 'stall'] as const);
    often(30_000, (atMs) => ({ kind: 'disk', worker, atMs, disk: disk(), ms: between(1_000, 5_000) }));
    // Only a run that is long enough has the time to wake up.
    if (lengthMs >= 120_000)
      often(150_000, (atMs) => ({
        kind: 'freeze-at-post',
        worker,
        atMs: atMs * 0.7,
        ms: between(33_000, 38_000),
      }));
  }
  for (const gateway of numbersTo(gateways)) {
    const part = gatewayName(gateway);
    often(60_000, (atMs) => ({ kind: 'kill', part, atMs, downMs: between(0, 1_000) }));
    often(60_000, (atMs) => ({ kind: 'freeze', part, atMs, ms: between(500, 4_000) }));
  }
  for (const part of [hasDatabase ? 'database' : 'temporal', 'service']) {
    // The database of a deployed server is killed once.
    if (part === 'database') events.push({ kind: 'kill', part, atMs: lengthMs / 2, downMs: 1_000 });
    else often(100_000, (atMs) => ({ kind: 'kill', part, atMs, downMs: between(0, 1_000) }));
    often(75_000, (atMs) => ({ kind: 'freeze', part, atMs, ms: between(500, 4_000) }));
  }
  const trouble = (): LineTrouble =>
    oneOf([
      () => ({ kind: 'reset' as const }),
      () => ({ kind: 'cut' as const, ms: between(200, 2_500) }),
      () => ({ kind: 'stall' as const, ms: between(500, 4_000) }),
      () => ({ kind: 'slow' as const, ms: between(1_000, 5_000), delayMs: between(50, 300) }),
    ])();
  for (const line of lineNames(options)) {
    // Calls to the service are what it is about.
    const everyMs = line.includes('alpha') ? 25_000 : 50_000;
    often(everyMs, (atMs) => ({ kind: 'line', line, atMs, trouble: trouble() }));
  }
  for (const share of [0.35, 0.65]) events.push({ kind: 'rotate-key', atMs: lengthMs * share });
  events.sort((a, b) => a.atMs - b.atMs);
  return { ...options, planned, events };
}

/** A line between each pair of programs that talk to each other. */
export function lineNames({ workers, gateways }: Pick<PlanOptions, 'workers' | 'gateways'>): string[] {
  return [
    ...numbersTo(workers).flatMap((number) =>
      ['temporal', 'alpha', 'beta'].map((to) => `${workerName(number)}:${to}`),
    ),
    ...numbersTo(gateways).flatMap((number) => [
      `${gatewayName(number)}:temporal`,
      `callers:${gatewayName(number)}`,
    ]),
    'callers:temporal',
  ];
}
