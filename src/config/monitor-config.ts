import { isIP } from 'node:net';
import { durationMs } from '../contract/duration';
import { type Environment, quoted, readerOf, type SettingGroup, text } from './read-setting';

/** Temporal's server gives the tasks of a worker that does not end to others anyway. */
const LONGEST_GRACE_MS = 3_600_000;

export const DEFAULT_MONITOR_HOST = '127.0.0.1';

export const MONITOR_SETTINGS = {
  VIDEOGEN_MONITOR_PORT: {
    type: text
      .refine((given) => /^\d{1,5}$/.test(given) && Number(given) > 0 && Number(given) < 65_536, quoted)
      .transform(Number)
      .optional(),
    meaning: 'The port on which a worker or a gateway serves `/metrics`, `/livez` and `/readyz`.',
    page: 'observability.md',
    unset: 'none: nothing is measured or served',
    fix: 'give a port from 1 to 65535, such as 9464, or unset it',
  },
  VIDEOGEN_MONITOR_HOST: {
    type: text
      .refine((given) => given === 'localhost' || isIP(given) > 0, quoted)
      .default(DEFAULT_MONITOR_HOST),
    meaning: 'The address for that port. It needs no key, so open it only to the network of your probes.',
    page: 'observability.md',
    fix: 'give an IP address such as 0.0.0.0, or unset it',
  },
  VIDEOGEN_SHUTDOWN_GRACE: {
    type: text
      .refine((given) => (durationMs(given) ?? Number.POSITIVE_INFINITY) <= LONGEST_GRACE_MS, quoted)
      .default('20s'),
    meaning:
      'How long what a worker does may finish after SIGTERM. Then a download is left for the next attempt; a submit is awaited.',
    page: 'observability.md#shutdown',
    fix: 'give a duration of at most an hour, such as 20s or 5m, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(MONITOR_SETTINGS);

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
  const port = read('VIDEOGEN_MONITOR_PORT', env);
  const host = readMonitorHost(env);
  return port === undefined ? undefined : { port, host };
}

export function readMonitorHost(env?: Environment): string {
  return read('VIDEOGEN_MONITOR_HOST', env);
}

/** How long running activities may finish after a shutdown signal. */
export function readShutdownGraceMs(env?: Environment): number {
  return durationMs(read('VIDEOGEN_SHUTDOWN_GRACE', env)) ?? 0;
}
