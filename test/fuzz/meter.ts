import { readFileSync, writeFileSync } from 'node:fs';
import { processorMs } from '../support/processor-time.cjs';

const KIBIBYTE = 1024;

/** What one run took. */
export interface Taken {
  processorMs: number;
  /** By how much the memory of the process grew at its highest, even if it was freed again. */
  memoryBytes: number;
}

export async function measured<T>(work: () => Promise<T>): Promise<{ value: T; taken: Taken }> {
  forgetPeak();
  const bytesBefore = process.memoryUsage.rss();
  const startedAtMs = processorMs();
  const value = await work();
  const taken = { processorMs: processorMs() - startedAtMs, memoryBytes: peakBytes() - bytesBefore };
  return { value, taken };
}

/** Linux counts the peak from here on; elsewhere only what stays is seen. */
function forgetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // There is no /proc.
  }
}

function peakBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kibibytes) * KIBIBYTE;
  } catch {
    return process.memoryUsage.rss();
  }
}
