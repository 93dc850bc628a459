import type { Environment } from '../config/service-config';
import { readServerOptions } from '../config/temporal-config';
import { findDevServer } from '../temporal-server';
import type { Terminal } from './terminal';

interface Search {
  env: Environment;
  terminal: Pick<Terminal, 'onInterrupt'>;
  printLine: (line: string) => void;
  /** Replaces the last line, on a terminal. */
  redraw?: ((line: string) => void) | undefined;
}

/** The program of the dev server, fetched or built if it must be, unless Ctrl-C is pressed meanwhile. */
export function findExecutable({ env, terminal, printLine, redraw }: Search): Promise<string> {
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort('Ctrl-C was pressed'));
  return findDevServer({
    ...readServerOptions(env),
    onProgress: printLine,
    onRedraw: redraw,
    signal: interrupted.signal,
  }).finally(stopListening);
}
