import { ConfigError, readKeyIfSet } from '../config/service-config';
import { inShell } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { startEmulator } from '../testing/emulator';
import { callDescriber } from './call-describer';
import { EXIT } from './exit-codes';
import { readFaults } from './read-faults';
import { readPort } from './read-port';
import { type Terminal, untilInterrupted } from './terminal';

interface EmulatorCommandOptions {
  host?: string;
  port: string;
  jobTime: string;
  concurrentTasks?: string;
  tasksFile?: string;
  fault?: string[];
  charge?: string;
  chaos?: string;
}

/** `videogen emulator`: runs the emulated video service until Ctrl-C. */
export async function emulator(options: EmulatorCommandOptions, terminal: Terminal): Promise<number> {
  const { host, tasksFile, jobTime, fault = [] } = options;
  const jobTimeMs = durationMs(jobTime);
  if (jobTimeMs === undefined) throw wrong('--job-time', jobTime, 'a length of time such as 5s');
  const faults = readFaults(fault);
  const rate = readNumber(
    '--chaos',
    options.chaos,
    (given) => given <= 1,
    'a number from 0 to 1, such as 0.1',
  );
  const charge = readNumber(
    '--charge',
    options.charge,
    Number.isFinite,
    'an amount in dollars, such as 0.25',
  );
  const isCount = (given: number) => Number.isSafeInteger(given) && given > 0;
  const most = options.concurrentTasks;
  const concurrentTasks = readNumber('--concurrent-tasks', most, isCount, 'a whole number of at least 1');
  const port = readPort('--port', options.port);
  const apiKey = readKeyIfSet(terminal.env);
  const running = await startEmulator({
    host,
    port,
    apiKey,
    jobTimeMs,
    concurrentTasks,
    tasksFile,
    charge,
    chaos: rate === undefined ? undefined : { rate },
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
  terminal.err(`Use it with VIDEO_API_BASE_URL=${inShell(running.url)} and ${key}.\n`);
  await untilInterrupted(terminal);
  await running.close();
  return EXIT.ok;
}

function readNumber(
  name: string,
  text: string | undefined,
  isRight: (given: number) => boolean,
  what: string,
) {
  if (text === undefined) return undefined;
  const given = Number(text);
  if (text.trim() !== '' && given >= 0 && isRight(given)) return given;
  throw wrong(name, text, what);
}

function wrong(name: string, text: string, what: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(text)}: give ${what}.`);
}
