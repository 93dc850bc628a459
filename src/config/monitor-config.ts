import { isIP } from 'node:net';
import { durationMs } from '../contract/duration';
import { type Environment, quoted, readerOf, type SettingGroup, text } from './read-setting';

/** Temporal's server gives the tasks of a worker that does not end to others anyway. */
const LONGEST_GRACE_MS = 3_600_000;

export const DEFAULT_MONITOR_HOST = '127.0.0.1';

export const MONITOR_SETTINGS = {
  VIDEOGEN_MONITOR_PORT: {
    type: text
      .refine((given) => parseMonitorAddress(given) !== undefined, quoted)
      .transform(parseMonitorAddress)
      .optional(),
    meaning:
      'The port on which a worker or a gateway serves `/metrics`, `/livez` and `/readyz`. It needs no key and listens on 127.0.0.1; with an address, as in `0.0.0.0:9464`, also for the network of your probes. [More](observability.md)',
    unset: 'none: nothing is measured or served',
    fix: 'give a port from 1 to 65535, such as 9464, or an address and a port, such as 0.0.0.0:9464, or unset it',
  },
  VIDEOGEN_SHUTDOWN_GRACE: {
    type: text
      .refine((given) => (durationMs(given) ?? Number.POSITIVE_INFINITY) <= LONGEST_GRACE_MS, quoted)
      .default('20s'),
    meaning:
      'How long what a worker does may finish after SIGTERM. Then a download is left for the next attempt; a submit is awaited. [More](observability.md#shutdown)',
    fix: 'give a duration of at most an hour, such as 20s or 5m, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(MONITOR_SETTINGS);

/** `9464`, `0.0.0.0:9464` or `[::]:9464`. */
function parseMonitorAddress(given: string): Required<MonitorAddress> | undefined {
  const [, host = DEFAULT_MONITOR_HOST, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? [];
  const port = Number(digits);
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const isValid = port > 0 && port < 65_536 && (address === 'localhost' || isIP(address) > 0);
  return isValid ? { port, host: address } : undefined;
}

/** Where a monitor listens. */
export interface MonitorAddress {
  /** The port; 0 for a free one. */
  port: number;
  /** Default: 127.0.0.1. */
  host?: string;
}

/** Where the monitor listens: as given, `false` for nowhere, or else as the environment says. Undefined for nowhere. */
export function monitorAddress(
  given: MonitorAddress | false | undefined,
  env?: Environment,
): Required<MonitorAddress> | undefined {
  if (given === false) return undefined;
  if (given !== undefined) return { host: DEFAULT_MONITOR_HOST, ...given };
  return read('VIDEOGEN_MONITOR_PORT', env);
}

/** How long running activities may finish after a shutdown signal. */
export function readShutdownGraceMs(env?: Environment): number {
  return durationMs(read('VIDEOGEN_SHUTDOWN_GRACE', env)) ?? 0;
}
