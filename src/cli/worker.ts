import { monitorAddress } from '../config/operation-config';
import { resolveWorkerQueues } from '../config/queues';
import { readServiceConfig } from '../config/service-config';
import { readSetting } from '../config/settings';
import { createVideoService, recordAnswers } from '../service';
import { createVideoWorker, type WorkerRole } from '../worker/video-worker';
import { exporterForMonitor } from '../worker/worker-monitor';
import { keepHeapSmall } from './keep-heap-small';
import { openLog } from './open-log';
import { describeMonitor } from './read-port';
import { EXIT, printLine, type Terminal, untilInterrupted } from './terminal';

interface WorkerCommandOptions {
  record?: string;
  only?: WorkerRole[];
}

/** `videogen worker`: runs a worker until Ctrl-C or SIGTERM, then drains it. */
export async function worker({ record, only }: WorkerCommandOptions, terminal: Terminal): Promise<number> {
  const { env } = terminal;
  const monitor = monitorAddress(undefined, env);
  const roles = only && [...new Set(only)];
  keepHeapSmall();
  openLog(terminal, 'info', monitor && { metrics: await exporterForMonitor() });
  const service = record === undefined ? undefined : recordedService(record, terminal);
  try {
    const defaultService = readSetting('VIDEOGEN_SERVICES_FILE', env)?.default;
    const videoWorker = await createVideoWorker({ env, service, defaultService, roles, monitor });
    const part = roles ? `the ${roles.join(' and ')} of ` : '';
    printLine(
      terminal,
      `Working on ${part}task queue ${resolveWorkerQueues({}, env).taskQueue}. Ctrl-C ends it.`,
    );
    if (monitor) printLine(terminal, describeMonitor(monitor));
    if (record !== undefined) printLine(terminal, `The answers of the service are recorded in ${record}.`);
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
  const onAnswer = recordAnswers(folder, (message) => printLine(terminal, message));
  return createVideoService({ ...readServiceConfig(terminal.env), onAnswer });
}
