import { resolveQueues } from '../config/queues';
import { ConfigError, namesAService } from '../config/service-config';
import { inShell } from '../contract';
import { EXIT } from './exit-codes';
import { openLocalStack } from './local-stack';
import type { DevOptions } from './options';
import { redrawOn, type Terminal } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen dev`: runs Temporal, its UI, a worker and the emulator until Ctrl-C. */
export async function dev(options: DevOptions, terminal: Terminal): Promise<number> {
  const print = (line: string) => terminal.err(`${line}\n`);
  const port = readPort('--port', options.port);
  const uiPort = readPort('--ui-port', options.uiPort);
  const stack = await openLocalStack({
    env: terminal.env,
    terminal,
    printLine: print,
    redraw: redrawOn(terminal),
    port,
    uiPort,
    forOtherPrograms: true,
    logLevel: 'WARN',
  });
  try {
    if (stack.runBy !== undefined) {
      const { pid, storage } = stack.runBy;
      print(
        `Process ${pid} already runs everything and stores videos in ${storage}; its UI is at ${stack.uiUrl}.`,
      );
      return EXIT.ok;
    }
    print(`Temporal       ${stack.address}`);
    print(`Temporal UI    ${stack.uiUrl}`);
    print(`Task queues    ${resolveQueues({}, terminal.env).taskQueue}, for jobs that your programs start`);
    // One queue for each service and storage, so that no job reaches a worker with another service or storage.
    print(`               ${stack.taskQueue}, for videogen generate and batch`);
    print(`Video service  ${stack.serviceUrl}${namesAService(terminal.env) ? '' : ' (the emulator)'}`);
    print(`Storage        ${stack.storage}`);
    if (stack.emulatorKey !== undefined) {
      const service = `VIDEO_API_BASE_URL=${inShell(stack.serviceUrl)} VIDEO_API_KEY=${inShell(stack.emulatorKey)}`;
      print(`Your programs  export TEMPORAL_ADDRESS=${inShell(stack.address)} ${service}`);
    }
    print(
      'Start a job from another terminal: videogen generate "A red fox in the snow". Ctrl-C ends everything.',
    );
    await untilInterrupted(terminal);
    print('Stopping. Jobs are saved and continue with the next start.');
    return EXIT.ok;
  } finally {
    await stack.close();
  }
}

export function readPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ConfigError(`${name} is ${JSON.stringify(text)}: give a port from 1 to 65535.`);
}
