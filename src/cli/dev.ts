import { resolveQueues } from '../config/queues';
import { ConfigError, namesAService } from '../config/service-config';
import { inShell } from '../contract';
import { EXIT } from './exit-codes';
import { openLocalStack } from './local-stack';
import type { DevOptions } from './options';
import { redrawOn, type Terminal } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen dev`: everything up, until Ctrl-C. */
export async function dev(options: DevOptions, terminal: Terminal): Promise<number> {
  const tell = (line: string) => terminal.err(`${line}\n`);
  const port = readPort('--port', options.port);
  const uiPort = readPort('--ui-port', options.uiPort);
  const stack = await openLocalStack({
    env: terminal.env,
    terminal,
    tell,
    redraw: redrawOn(terminal),
    port,
    uiPort,
    forEverybody: true,
    logLevel: 'WARN',
  });
  try {
    if (stack.runBy !== undefined) {
      const { pid, storage } = stack.runBy;
      tell(`Process ${pid} runs everything already and stores in ${storage}; its UI is at ${stack.uiUrl}.`);
      return EXIT.ok;
    }
    tell(`Temporal       ${stack.address}`);
    tell(`Temporal UI    ${stack.uiUrl}`);
    tell(`Task queues    ${resolveQueues({}, terminal.env).taskQueue}, for jobs that your programs start`);
    // A queue for each service and storage, so that jobs of the command line never get to a worker of another.
    tell(`               ${stack.taskQueue}, for videogen generate and batch`);
    tell(`Video service  ${stack.serviceUrl}${namesAService(terminal.env) ? '' : ' (the emulator)'}`);
    tell(`Storage        ${stack.storage}`);
    if (stack.emulatorKey !== undefined) {
      const service = `VIDEO_API_BASE_URL=${inShell(stack.serviceUrl)} VIDEO_API_KEY=${inShell(stack.emulatorKey)}`;
      tell(`Your programs  export TEMPORAL_ADDRESS=${inShell(stack.address)} ${service}`);
    }
    tell(
      'Start a job from another terminal: videogen generate "A red fox in the snow". Ctrl-C ends everything.',
    );
    await untilInterrupted(terminal);
    tell('Ending; jobs are kept and go on with the next start.');
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
