import { readServiceConfig, readTaskQueue } from '../config';
import { createVideoService, keepAnswers } from '../service';
import { createVideoWorker } from '../worker';
import { EXIT } from './exit-codes';
import type { WorkerCommandOptions } from './options';
import { quietRuntime } from './quiet-runtime';
import { type Terminal, tell } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen worker`: works until Ctrl-C or SIGTERM, then drains. */
export async function worker({ record }: WorkerCommandOptions, terminal: Terminal): Promise<number> {
  quietRuntime('INFO');
  const { env } = terminal;
  const service = record === undefined ? undefined : recordedService(record, terminal);
  try {
    const videoWorker = await createVideoWorker({ env, service });
    terminal.err(`Working on task queue ${readTaskQueue(env)}. Ctrl-C ends it.\n`);
    if (record !== undefined) tell(terminal, `What the service answers is kept in ${record}.`);
    const running = videoWorker.run();
    await Promise.race([running, untilInterrupted(terminal)]);
    videoWorker.shutdown();
    await running;
    return EXIT.ok;
  } finally {
    await service?.close();
  }
}

function recordedService(folder: string, terminal: Terminal) {
  const onAnswer = keepAnswers(folder, { onTrouble: (message) => tell(terminal, message) });
  return createVideoService({ ...readServiceConfig(terminal.env), onAnswer });
}
