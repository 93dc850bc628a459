import type { ChildProcess } from 'node:child_process';

/**
 * A child does not outlive a parent that ends by itself or by process.exit(). A parent killed by a signal runs no
 * hooks: a program that wants its children gone then handles the signal and exits.
 */
export function endWithParent(child: ChildProcess): void {
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
}
