import { readTaskQueue } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { usesEmulator } from '../config/services-config';
import { inShell } from '../contract/clean-text';
import { EXIT } from './exit-codes';
import { openLocalStack } from './local-stack';
import { readFaults, type ScriptedFault } from './read-faults';
import { readPort } from './read-port';
import { redrawOn, type Terminal, untilInterrupted } from './terminal';

interface DevOptions {
  port?: string;
  uiPort?: string;
  gatewayPort?: string;
  fault?: string[];
}

/** `videogen dev`: runs Temporal, its UI, a worker, the gateway and the emulator until Ctrl-C. */
export async function dev(options: DevOptions, terminal: Terminal): Promise<number> {
  const print = (line: string) => terminal.err(`${line}\n`);
  const port = readPort('--port', options.port);
  const uiPort = readPort('--ui-port', options.uiPort);
  const gatewayPort = readPort('--gateway-port', options.gatewayPort);
  const faults = readFaultsOf(options, terminal);
  const stack = await openLocalStack({
    env: terminal.env,
    terminal,
    printLine: print,
    redraw: redrawOn(terminal),
    port,
    uiPort,
    gatewayPort,
    forOtherPrograms: true,
    logLevel: 'info',
    faults,
  });
  try {
    if (stack.runBy !== undefined) {
      const { pid, storage, emulator } = stack.runBy;
      print(
        `Process ${pid} already runs everything and stores videos in ${storage}; its UI is at ${stack.uiUrl}.`,
      );
      if (emulator !== undefined) print(exportLine(stack.address, emulator));
      if (stack.pageUrl !== undefined) print(pageLine(stack.pageUrl));
      if (faults.length === 0) return EXIT.ok;
      throw new ConfigError(
        `--fault is only for an emulator that this command starts: end process ${pid} and run the command again.`,
      );
    }
    print(`Temporal       ${stack.address}`);
    print(`Temporal UI    ${stack.uiUrl}`);
    print(`Task queues    ${readTaskQueue(terminal.env)}, for programs without a worker of their own`);
    // One queue for each service and storage, so that no job reaches a worker with another service or storage.
    print(`               ${stack.taskQueue}, for videogen generate and batch`);
    print(`Video service  ${stack.serviceUrl}${usesEmulator(terminal.env) ? ' (the emulator)' : ''}`);
    print(`Storage        ${stack.storage}`);
    if (stack.emulatorKey !== undefined) {
      print(exportLine(stack.address, { url: stack.serviceUrl, key: stack.emulatorKey }));
    }
    print(
      'Start a job from another terminal: videogen generate "A red fox in the snow". Ctrl-C ends everything.',
    );
    if (stack.pageUrl !== undefined) print(pageLine(stack.pageUrl));
    await untilInterrupted(terminal);
    print('Stopping. Jobs are saved and continue with the next start.');
    return EXIT.ok;
  } finally {
    await stack.close();
  }
}

function pageLine(pageUrl: string): string {
  return `Open the page: ${pageUrl}`;
}

function exportLine(address: string, { url, key }: { url: string; key: string }): string {
  const service = `VIDEO_API_BASE_URL=${inShell(url)} VIDEO_API_KEY=${inShell(key)}`;
  return `Your programs  export TEMPORAL_ADDRESS=${inShell(address)} ${service}`;
}

function readFaultsOf({ fault = [] }: DevOptions, { env }: Terminal): ScriptedFault[] {
  if (fault.length > 0 && !usesEmulator(env)) {
    throw new ConfigError(
      '--fault needs the emulated service: unset VIDEO_API_BASE_URL, VIDEO_API_KEY, VIDEO_API_KEY_FILE and VIDEOGEN_SERVICES_FILE.',
    );
  }
  return readFaults(fault);
}
