import type { Terminal } from './terminal';

export function untilInterrupted(terminal: Terminal): Promise<void> {
  return new Promise((resolve) => {
    terminal.onInterrupt(resolve);
  });
}
