import { readTaskQueue } from '../config';
import { createVideoWorker } from '../worker';
import { EXIT } from './exit-codes';
import { quietRuntime } from './quiet-runtime';
import type { Terminal } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen worker`: works until Ctrl-C or SIGTERM, then drains. */
export async function worker(terminal: Terminal): Promise<number> {
  quietRuntime('INFO');
  const videoWorker = await createVideoWorker({ env: terminal.env });
  terminal.err(`Working on task queue ${readTaskQueue(terminal.env)}. Ctrl-C ends it.\n`);
  const running = videoWorker.run();
  await Promise.race([running, untilInterrupted(terminal)]);
  videoWorker.shutdown();
  await running;
  return EXIT.ok;
}
