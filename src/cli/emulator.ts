import { ConfigError, readKeyIfSet } from '../config/service-config';
import { inShell } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { isAmount } from '../contract/money';
import { startEmulator } from '../testing/emulator';
import type { ChaosOptions } from '../testing/faults';
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
  honourKeys?: boolean;
  fault?: string[];
  charge?: string;
  chaos?: string;
  chaosSeed?: string;
}

/** `videogen emulator`: runs the emulated video service until Ctrl-C. */
export async function emulator(options: EmulatorCommandOptions, terminal: Terminal): Promise<number> {
  const jobTimeMs = durationMs(options.jobTime);
  if (jobTimeMs === undefined) {
    throw new ConfigError(
      `--job-time is ${JSON.stringify(options.jobTime)}: give a length of time such as 5s.`,
    );
  }
  const faults = readFaults(options.fault ?? []);
  const chaos = readChaos(options);
  const charge = readCharge(options.charge);
  const port = readPort('--port', options.port);
  const concurrentTasks = readCount('--concurrent-tasks', options.concurrentTasks);
  const apiKey = readKeyIfSet(terminal.env);
  const running = await startEmulator({
    host: options.host,
    port,
    apiKey,
    jobTimeMs,
    concurrentTasks,
    tasksFile: options.tasksFile,
    charge,
    chaos,
    idempotencyKeys: options.honourKeys ? 'honoured' : 'ignored',
    onCall: (call) => terminal.err(`${describeCall(call)}\n`),
  }).catch(cannotListen);
  const describeCall = callDescriber(running);
  for (const { call, fault } of faults) running.next(call, fault);
  terminal.err(`The emulated video service is at ${running.url}. Ctrl-C ends it.\n`);
  // The emulator's default key is public; a configured key may be secret.
  const key = apiKey === undefined ? `VIDEO_API_KEY=${inShell(running.apiKey)}` : 'your VIDEO_API_KEY';
  terminal.err(`Use it with VIDEO_API_BASE_URL=${inShell(running.url)} and ${key}.\n`);
  if (chaos) terminal.err(`Chaos: each call has a fault with a probability of ${chaos.rate}.\n`);
  await untilInterrupted(terminal);
  await running.close();
  return EXIT.ok;
}

function readChaos({ chaos, chaosSeed: seed }: EmulatorCommandOptions): ChaosOptions | undefined {
  if (chaos === undefined) {
    if (seed === undefined) return undefined;
    throw new ConfigError('--chaos-seed needs --chaos: give it as well, such as --chaos 0.1.');
  }
  const rate = Number(chaos);
  if (chaos.trim() !== '' && rate >= 0 && rate <= 1) return { rate, seed };
  throw new ConfigError(`--chaos is ${JSON.stringify(chaos)}: give a number from 0 to 1, such as 0.1.`);
}

function readCharge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (text.trim() !== '' && isAmount(Number(text))) return Number(text);
  throw new ConfigError(`--charge is ${JSON.stringify(text)}: give an amount in dollars, such as 0.25.`);
}

function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new ConfigError(`${name} is ${JSON.stringify(text)}: give a whole number of at least 1.`);
}

/** The caller chose the address, so this is a usage error. */
function cannotListen(error: Error): never {
  throw new ConfigError(error.message, { cause: error });
}
