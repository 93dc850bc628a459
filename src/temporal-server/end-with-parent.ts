import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** Waits until its standard input ends, which it does with the process that holds the other end, however that dies. */
const END_WHEN_ALONE = 'read -r line; kill -TERM "$1"';

/**
 * A child does not outlive its parent. One that ends by itself or by process.exit() takes it along; for one that is
 * killed outright, which runs no hooks, a shell watches where there is one.
 */
export function endWithParent(child: ChildProcess): void {
  const watcher = child.pid === undefined ? undefined : watchFor(child.pid);
  const dismiss = () => watcher?.kill('SIGKILL');
  const end = () => {
    dismiss();
    child.kill('SIGTERM');
  };
  process.once('exit', end);
  child.once('close', () => {
    process.off('exit', end);
    dismiss();
  });
  // Its number may be another's soon.
  child.once('exit', dismiss);
}

function watchFor(pid: number): ChildProcess {
  const watcher = spawn('sh', ['-c', END_WHEN_ALONE, 'sh', `${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A Ctrl-C is for us, and we decide what ends.
    detached: true,
  });
  for (const handle of [watcher, watcher.stdin]) {
    handle?.on('error', () => undefined);
    if (handle === watcher || handle instanceof Socket) handle.unref();
  }
  return watcher;
}
