import { ConfigError } from '../config/read-setting';
import type { MonitorAddress } from '../config/setting-forms';

export function readPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ConfigError(`${name} is ${JSON.stringify(text)}: give a port from 1 to 65535.`);
}

export function describeMonitor({ host, port }: Required<MonitorAddress>): string {
  const address = host.includes(':') ? `[${host}]` : host;
  return `Metrics and health are at http://${address}:${port}/metrics, /livez and /readyz.`;
}
