import { EXIT } from './exit-codes';
import { openTemporal, type Place, tellOfUi } from './open-temporal';
import { type Terminal, tell } from './terminal';

export interface Work {
  /** What is called away from: `the job`, `the batch`. */
  what: string;
  isNew: boolean;
  /** Answers with the exit code, unless Temporal has ended with the process that ran it. */
  run(place: Place): Promise<number | 'temporal-ended'>;
}

/** Does the work where Temporal is, again if that ends meanwhile: what was started is kept, and goes on with the next. */
export async function withTemporal(terminal: Terminal, { what, isNew, run }: Work): Promise<number> {
  for (;;) {
    const place = await openTemporal(terminal, { forNewJob: isNew });
    try {
      if (wasInterrupted(terminal)) {
        tell(terminal, `Left before ${what} was started.`);
        return EXIT.interrupted;
      }
      const code = await run(place);
      if (code !== 'temporal-ended') return code;
      // It is in the database of the server that ended.
      tell(terminal, 'The process that ran Temporal has ended: going on without it.');
    } finally {
      await place.close();
    }
  }
}

/** Temporal may end with the process that runs it at any time; the SDK would go on asking for a while. */
export async function orEnded<T>(place: Place, outcome: Promise<T>): Promise<T | 'temporal-ended'> {
  // Whoever is raced past may still fail, with nobody there to hear it.
  outcome.catch(() => undefined);
  return Promise.race([outcome, place.ended.then(() => 'temporal-ended' as const)]);
}

/** What comes of a job or a batch whose progress is shown meanwhile, unless Temporal ends or the person leaves first. */
export async function whileShown<T>(
  shown: { stop(): void },
  outcome: Promise<T>,
  { place, terminal }: { place: Place; terminal: Terminal },
): Promise<T | 'interrupted' | 'temporal-ended'> {
  return orInterrupted(terminal, orEnded(place, outcome)).finally(() => {
    shown.stop();
    tellOfUi(place, terminal);
  });
}

/** The outcome, unless the person at the terminal leaves first. */
async function orInterrupted<T>(terminal: Terminal, outcome: Promise<T>): Promise<T | 'interrupted'> {
  let stopListening: () => unknown = () => undefined;
  const interrupted = new Promise<'interrupted'>((resolve) => {
    stopListening = terminal.onInterrupt(() => resolve('interrupted'));
  });
  return Promise.race([outcome, interrupted]).finally(() => stopListening());
}

/** Starting Temporal takes its time: a Ctrl-C meanwhile is for what nobody has paid for yet. */
function wasInterrupted(terminal: Terminal): boolean {
  let interrupted = false;
  terminal.onInterrupt(() => {
    interrupted = true;
  })();
  return interrupted;
}
