import { type MonitorAddress, monitorAddress } from '../config/monitor-config';
import type { Environment } from '../config/read-setting';
import { readPort } from './read-port';

/** `--monitor-port` goes before the environment. */
export function readMonitor(
  options: { monitorPort?: string },
  env: Environment,
): Required<MonitorAddress> | undefined {
  const port = readPort('--monitor-port', options.monitorPort);
  return monitorAddress(port === undefined ? undefined : { port }, env);
}

export function describeMonitor({ host, port }: Required<MonitorAddress>): string {
  const address = host.includes(':') ? `[${host}]` : host;
  return `Metrics and health are at http://${address}:${port}/metrics, /livez and /readyz.`;
}
