import { readServiceConfig, readTaskQueue } from '../config';
import { VideoFailure } from '../contract';
import { createVideoService, keepAnswers } from '../service';
import { createVideoWorker, WORKER_ROLES, type WorkerRole } from '../worker';
import { EXIT } from './exit-codes';
import type { WorkerCommandOptions } from './options';
import { quietRuntime } from './quiet-runtime';
import { type Terminal, tell } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen worker`: works until Ctrl-C or SIGTERM, then drains. */
export async function worker({ record, only }: WorkerCommandOptions, terminal: Terminal): Promise<number> {
  quietRuntime('INFO');
  const { env } = terminal;
  const roles = only?.map(readRole);
  const service = record === undefined ? undefined : recordedService(record, terminal);
  try {
    const videoWorker = await createVideoWorker({ env, service, roles });
    const what = roles ? `${roles.join(' and ')} alone` : 'everything';
    terminal.err(`Working on ${what} of task queue ${readTaskQueue(env)}. Ctrl-C ends it.\n`);
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

function readRole(given: string): WorkerRole {
  const role = WORKER_ROLES.find((known) => known === given);
  if (role !== undefined) return role;
  const message = `--only is ${JSON.stringify(given)}: give one of ${WORKER_ROLES.join(', ')}`;
  throw new VideoFailure('InvalidRequest', { message });
}
