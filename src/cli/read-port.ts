import { type MonitorAddress, monitorAddress } from '../config/operation-config';
import { ConfigError, type Environment } from '../config/read-setting';

export function readPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ConfigError(`${name} is ${JSON.stringify(text)}: give a port from 1 to 65535.`);
}

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
