import { ConfigError, namesAService, readBaseUrl, usesEmulator } from '../config/service-config';
import { readSetting } from '../config/settings';
import { inShell } from '../contract/clean-text';
import { openLocalStack } from './local-stack';
import { readFaults, type ScriptedFault } from './read-faults';
import { readPort } from './read-port';
import { EXIT, printLine, type Terminal, untilInterrupted } from './terminal';

interface DevOptions {
  port?: string;
  uiPort?: string;
  gatewayPort?: string;
  fault?: string[];
}

/** `videogen dev`: runs Temporal, its UI, a worker, the gateway and the emulator until Ctrl-C. */
export async function dev(options: DevOptions, terminal: Terminal): Promise<number> {
  const { env } = terminal;
  const print = (line: string) => printLine(terminal, line);
  const faults = readFaultsOf(options, terminal);
  const stack = await openLocalStack(terminal, {
    port: readPort('--port', options.port),
    uiPort: readPort('--ui-port', options.uiPort),
    gatewayPort: readPort('--gateway-port', options.gatewayPort),
    faults,
  });
  const { pid, address, uiUrl, pageUrl, emulator, storage } = stack.note;
  try {
    if (stack.ended) {
      print(`Process ${pid} already runs everything and stores videos in ${storage}; its UI is at ${uiUrl}.`);
    } else {
      print(`Temporal       ${address}`);
      print(`Temporal UI    ${uiUrl}`);
      print(
        `Task queues    ${readSetting('VIDEOGEN_TASK_QUEUE', env)}, for programs without a worker of their own`,
      );
      // One queue for each service and storage, so that no job reaches a worker with another service or storage.
      print(`               ${stack.taskQueue}, for videogen generate and batch`);
      print(`Video service  ${emulator ? `${emulator.url} (the emulator)` : describeServices(env)}`);
      print(`Storage        ${storage}`);
    }
    const service = emulator
      ? ` VIDEO_API_BASE_URL=${inShell(emulator.url)} VIDEO_API_KEY=${inShell(emulator.key)}`
      : '';
    const settings = `TEMPORAL_ADDRESS=${inShell(address)}${service} VIDEOGEN_STORAGE=${inShell(storage)}`;
    print(`Your programs  export ${settings}`);
    if (!stack.ended)
      print(
        'Start a job from another terminal: videogen generate "A red fox in the snow". Ctrl-C ends everything.',
      );
    if (pageUrl !== undefined) print(`Open the page: ${pageUrl}`);
    if (stack.ended && faults.length > 0) {
      throw new ConfigError(
        `--fault is only for an emulator that this command starts: end process ${pid} and run the command again.`,
      );
    }
    if (stack.ended) return EXIT.ok;
    await untilInterrupted(terminal);
    print('Stopping. Jobs are saved and continue with the next start.');
    return EXIT.ok;
  } finally {
    await stack.close();
  }
}

/** `http://127.0.0.1:4000, fal-seedance, my-veo`: the one without a name by its address. */
function describeServices(env: Terminal['env']): string {
  const unnamed = namesAService(env) ? [readBaseUrl(env)] : [];
  return [...unnamed, ...Object.keys(readSetting('VIDEOGEN_SERVICES_FILE', env)?.services ?? {})].join(', ');
}

function readFaultsOf({ fault = [] }: DevOptions, { env }: Terminal): ScriptedFault[] {
  if (fault.length > 0 && !usesEmulator(env)) {
    throw new ConfigError(
      '--fault needs the emulated service: unset VIDEO_API_BASE_URL, VIDEO_API_KEY, VIDEO_API_KEY_FILE and VIDEOGEN_SERVICES_FILE.',
    );
  }
  return readFaults(fault);
}
