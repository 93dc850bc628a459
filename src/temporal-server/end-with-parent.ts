import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** Standard input closes when the parent dies, however it dies. A child that leads no group is signalled alone. */
const KILL_WHEN_INPUT_CLOSES = 'read -r line; kill -TERM "-$1" 2>/dev/null || kill -TERM "$1"';

/**
 * Ends a child process, and its process group if it leads one, with its parent. An exit hook covers a parent that ends by itself or by process.exit(). A killed
 * parent runs no hooks, so a shell watches it where there is one.
 */
export function endWithParent(child: ChildProcess): void {
  const watcher = child.pid === undefined ? undefined : watchParent(child.pid);
  const dismiss = () => watcher?.kill('SIGKILL');
  const end = () => {
    dismiss();
    signalGroup(child, 'SIGTERM');
  };
  process.once('exit', end);
  child.once('close', () => {
    process.off('exit', end);
    dismiss();
  });
  // Another process may get this pid soon.
  child.once('exit', dismiss);
}

/** Signals the process group that a child leads; the child alone if it leads none, as on Windows. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

function watchParent(pid: number): ChildProcess {
  const watcher = spawn('sh', ['-c', KILL_WHEN_INPUT_CLOSES, 'sh', `${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C goes only to our process, which decides what ends.
    detached: true,
  });
  for (const handle of [watcher, watcher.stdin]) {
    handle?.on('error', () => undefined);
    if (handle === watcher || handle instanceof Socket) handle.unref();
  }
  return watcher;
}
