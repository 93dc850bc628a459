import { totalmem } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';

const MB = 1_000_000;
/** What a busy worker takes, and what each workflow in its memory adds: `npm run bench -- --only g` prints both. */
const WORKER_BYTES = 350 * MB;
const WORKFLOW_BYTES = 0.25 * MB;

/** With these in memory and 9,000 more that wait, a worker was measured at 550 MB. */
const MOST_WORKFLOWS = 1_000;
/** The SDK runs this many workflow tasks at a time, and each needs its workflow in memory. */
const FEWEST_WORKFLOWS = 40;

/**
 * How many workflows a worker keeps in memory: as the caller says, or else as many as fit, up to MOST_WORKFLOWS.
 */
export function cachedWorkflows(
  { maxCachedWorkflows }: Partial<WorkerOptions> = {},
  memoryBytes = availableBytes(),
): number {
  const fitting = Math.floor((memoryBytes - WORKER_BYTES) / WORKFLOW_BYTES);
  return maxCachedWorkflows ?? Math.max(FEWEST_WORKFLOWS, Math.min(fitting, MOST_WORKFLOWS));
}

/** The memory of the container, or else of the machine. Without a limit, Node returns 0 or more than there is. */
function availableBytes(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
