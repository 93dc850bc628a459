import v8 from 'node:v8';
import vm from 'node:vm';
import { Worker, type WorkerOptions } from '@temporalio/worker';

/**
 * A worker whose workflows run in this thread, without what takes most of the time of short ones and does nothing for
 * them: a stack for each promise, which only a query for the stack trace needs, and a thread for each activation that
 * ends it after 49 days. The code and its sandbox are the same.
 */
export async function createQuickWorker(options: WorkerOptions): Promise<Worker> {
  const { createHook } = v8.promiseHooks;
  Object.assign(v8.promiseHooks, { createHook: () => () => undefined });
  try {
    return await Worker.create({ ...options, debugMode: true });
  } finally {
    Object.assign(v8.promiseHooks, { createHook });
  }
}

/** Call it while quick workers run, and what it returns after them. */
export function stopWatchdogs(): () => void {
  const { runInContext } = vm.Script.prototype;
  const unwatched: typeof runInContext = function (this: vm.Script, context, options) {
    return runInContext.call(this, context, { ...options, timeout: undefined });
  };
  vm.Script.prototype.runInContext = unwatched;
  return () => {
    vm.Script.prototype.runInContext = runInContext;
  };
}
