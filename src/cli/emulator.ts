import { ConfigError, readEmulatorKey } from '../config';
import { durationMs } from '../contract';
import { startEmulator } from '../emulator';
import { readPort } from './dev';
import { EXIT } from './exit-codes';
import { readFaults } from './read-faults';
import type { EmulatorCommandOptions } from './run';
import type { Terminal } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen emulator`: the video service on your own machine, until Ctrl-C. */
export async function emulator(options: EmulatorCommandOptions, terminal: Terminal): Promise<number> {
  const jobTimeMs = durationMs(options.jobTime);
  if (jobTimeMs === undefined) {
    throw new ConfigError(
      `--job-time is ${JSON.stringify(options.jobTime)}: give a length of time such as 5s.`,
    );
  }
  const running = await startEmulator({
    host: options.host,
    port: readPort('--port', options.port),
    apiKey: readEmulatorKey(terminal.env),
    jobTimeMs,
  });
  for (const { call, fault } of readFaults(options.fault ?? [])) running.next(call, fault);
  terminal.err(`The emulated video service is at ${running.url}. Ctrl-C ends it.\n`);
  terminal.err(`Use it with VIDEO_API_BASE_URL=${running.url} and the key that VIDEO_API_KEY holds here.\n`);
  await untilInterrupted(terminal);
  await running.close();
  return EXIT.ok;
}
