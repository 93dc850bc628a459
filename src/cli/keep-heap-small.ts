import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heaps of this process, and of the thread of its workflows, grow less beyond what is in use before they are collected:
 * V8 would let a heap double, and young objects fill 16 MB twice. A worker with thousands of waiting jobs, or a gateway under
 * attack, takes about 100 MB less, for some more processor time. Call it before a worker starts its thread.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=30');
  setFlagsFromString('--max-semi-space-size=8');
}
