import { ConfigError } from '../config/service-config';
import { readSecret } from '../config/settings';
import { inShell } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { type Emulator, startEmulator } from '../testing/emulator';
import type { RecordedCall } from '../testing/emulator-options';
import { FAL } from '../testing/fal-dialect';
import { readFaults } from './read-faults';
import { readPort } from './read-port';
import { EXIT, type Terminal, untilInterrupted } from './terminal';

interface EmulatorCommandOptions {
  host?: string;
  port: string;
  jobTime: string;
  tasksFile?: string;
  fault?: string[];
  charge?: string;
  fal?: boolean;
}

/** `videogen emulator`: runs the emulated video service until Ctrl-C. */
export async function emulator(options: EmulatorCommandOptions, terminal: Terminal): Promise<number> {
  const { host, tasksFile, jobTime, fault = [] } = options;
  const jobTimeMs = durationMs(jobTime);
  if (jobTimeMs === undefined)
    throw new ConfigError(`--job-time is ${JSON.stringify(jobTime)}: give a length of time such as 5s.`);
  const charge = options.charge === undefined ? undefined : Number(options.charge || Number.NaN);
  if (charge !== undefined && !(charge >= 0 && Number.isFinite(charge)))
    throw new ConfigError(
      `--charge is ${JSON.stringify(options.charge)}: give an amount in dollars, such as 0.25.`,
    );
  const faults = readFaults(fault);
  const port = readPort('--port', options.port);
  const apiKey = readSecret('VIDEO_API_KEY', terminal.env)?.();
  const running = await startEmulator({
    host,
    port,
    apiKey,
    jobTimeMs,
    tasksFile,
    charge,
    ...(options.fal && { dialect: FAL }),
    onCall: (call) => terminal.err(`${describeCall(call)}\n`),
  }).catch((error: Error) => {
    // The caller chose the address, so this is a usage error.
    throw new ConfigError(error.message, { cause: error });
  });
  const describeCall = callDescriber(running);
  for (const { call, fault } of faults) running.next(call, fault);
  terminal.err(`The emulated video service is at ${running.url}. Ctrl-C ends it.\n`);
  // The emulator's default key is public; a configured key may be secret.
  const key = apiKey === undefined ? `VIDEO_API_KEY=${inShell(running.apiKey)}` : 'your VIDEO_API_KEY';
  const use = options.fal
    ? 'Use its address as the baseUrl of a service in VIDEOGEN_SERVICES_FILE: see docs/ai-sdk.md.'
    : `Use it with VIDEO_API_BASE_URL=${inShell(running.url)} and ${key}.`;
  terminal.err(`${use}\n`);
  await untilInterrupted(terminal);
  await running.close();
  return EXIT.ok;
}

/** Describes each call to an emulator with the tasks that it made, so that a lost task can be found. */
export function callDescriber(emulator: Emulator): (call: RecordedCall) => string {
  let described = emulator.generations().length;
  return ({ method, path, status }) => {
    const made = emulator.generations().slice(described);
    described += made.length;
    const tasks = made.map((task) => `, created ${emulator.idOf(task)}`).join('');
    return `${method} ${path}: ${status ?? 'no answer'}${tasks}`;
  };
}
