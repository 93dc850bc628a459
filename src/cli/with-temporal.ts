import { EXIT } from './exit-codes';
import { openTemporal, printUiCommand, type TemporalSession } from './open-temporal';
import { printLine, type Terminal } from './terminal';

export interface Work {
  /** `the job` or `the batch`, for messages. */
  what: string;
  isNew: boolean;
  /** Returns the exit code, or `temporal-ended` if the process that ran Temporal has ended. */
  run(session: TemporalSession): Promise<number | 'temporal-ended'>;
}

/** Runs the work with Temporal, and again if Temporal ends meanwhile: jobs are stored and continue with the next server. */
export async function withTemporal(terminal: Terminal, { what, isNew, run }: Work): Promise<number> {
  for (;;) {
    const session = await openTemporal(terminal, { forNewJob: isNew });
    try {
      if (wasInterrupted(terminal)) {
        printLine(terminal, `Stopped before ${what} was started.`);
        return EXIT.interrupted;
      }
      const code = await run(session);
      if (code !== 'temporal-ended') return code;
      // The job is in the database, which the next server opens.
      printLine(terminal, 'The process that ran Temporal has ended. Continuing without it.');
    } finally {
      await session.close();
    }
  }
}

/** Returns early if the process that runs Temporal ends; the SDK would keep retrying for a while. */
export async function orEnded<T>(
  session: TemporalSession,
  outcome: Promise<T>,
): Promise<T | 'temporal-ended'> {
  // If the race is lost, a later rejection must not be unhandled.
  outcome.catch(() => undefined);
  return Promise.race([outcome, session.ended.then(() => 'temporal-ended' as const)]);
}

/** Waits for a job or a batch while its progress is shown, unless Temporal ends or Ctrl-C is pressed first. */
export async function whileShown<T>(
  shown: { stop(): void },
  outcome: Promise<T>,
  { session, terminal }: { session: TemporalSession; terminal: Terminal },
): Promise<T | 'interrupted' | 'temporal-ended'> {
  return orInterrupted(terminal, orEnded(session, outcome)).finally(() => {
    shown.stop();
    printUiCommand(session, terminal);
  });
}

/** The outcome, unless Ctrl-C is pressed first. */
async function orInterrupted<T>(terminal: Terminal, outcome: Promise<T>): Promise<T | 'interrupted'> {
  let stopListening: () => unknown = () => undefined;
  const interrupted = new Promise<'interrupted'>((resolve) => {
    stopListening = terminal.onInterrupt(() => resolve('interrupted'));
  });
  return Promise.race([outcome, interrupted]).finally(() => stopListening());
}

/** Starting Temporal takes seconds. A Ctrl-C meanwhile must stop the job before anything is paid for. */
function wasInterrupted(terminal: Terminal): boolean {
  let interrupted = false;
  terminal.onInterrupt(() => {
    interrupted = true;
  })();
  return interrupted;
}
