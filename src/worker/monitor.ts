import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { ConfigError } from '../config/read-setting';
import type { MonitorAddress } from '../config/setting-forms';
import { errorCode } from '../contract/error-code';

/** `starting` and `draining` are not ready either, but nothing is wrong. */
export type PartStatus = 'ok' | 'starting' | 'draining' | 'unready';

/** One thing that has to be so for the process to be ready. */
export interface HealthPart {
  part: 'polling' | 'temporal' | 'storage' | 'gateway';
  status: PartStatus;
  /** Why it is not ok, without secrets. */
  reason?: string | undefined;
}

/** What one worker or gateway of the process says about itself. */
export interface MonitorSource {
  /** Whether it is ready. */
  health(): Promise<HealthPart[]>;
  /** What makes a restart necessary; nothing by default. */
  liveness?(): HealthPart[];
  /** Its metrics, if they are in this process. */
  registry?: Registry | undefined;
  /** The address of the SDK's exporter, which all workers of a process share. */
  exporter?: string | undefined;
}

/** Below what Prometheus waits for by default, which is 10 s. */
const SCRAPED_WITHIN_MS = 8_000;
/** Longer than any answer takes. */
const SILENT_CONNECTION_ENDS_MS = 10_000;

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' };

/** By host and port: all workers of a process share one monitor. */
const open = new Map<string, Promise<{ sources: Set<MonitorSource>; server: Server }>>();

/**
 * Serves `/metrics`, `/livez` and `/readyz` of the given source. Its answers have no secrets, and it takes no input but the
 * path, so it needs no key. Returns a function that takes the source away; the last one closes the port.
 */
export async function openMonitor(
  { host, port }: Required<MonitorAddress>,
  source: MonitorSource,
): Promise<() => Promise<void>> {
  const key = `${host} ${port}`;
  const opening = open.get(key) ?? listen(host, port);
  open.set(key, opening);
  const { sources, server } = await opening.catch((error: unknown) => {
    open.delete(key);
    throw error;
  });
  sources.add(source);
  return async () => {
    sources.delete(source);
    if (sources.size > 0) return;
    open.delete(key);
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

async function listen(host: string, port: number) {
  const sources = new Set<MonitorSource>();
  const server = createServer((request, response) => void answer([...sources], request, response));
  server.timeout = SILENT_CONNECTION_ENDS_MS;
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new ConfigError(
      `The monitor cannot listen on ${host}, port ${port} (${errorCode(error) ?? error}): set VIDEOGEN_MONITOR_PORT to another port, with an address of this machine.`,
      { cause: error },
    );
  });
  // The monitor alone does not keep the process alive.
  server.unref();
  return { sources, server };
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

async function answer(
  sources: MonitorSource[],
  { url = '', method = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = ''] = url.split('?');
  const route = ['GET', 'HEAD'].includes(method) ? path : undefined;
  // Without the error, which may quote an address.
  const { status, type, body } = await answerOf(sources, route).catch(() => NO_ANSWER);
  const headers = { ...HEADERS, 'content-type': type, 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

async function answerOf(sources: MonitorSource[], path: string | undefined): Promise<Answer> {
  if (path === '/livez') return healthAnswer(sources.flatMap(({ liveness }) => liveness?.() ?? []));
  if (path === '/readyz') return healthAnswer(await healthOf(sources));
  if (path === '/metrics') return metricsOf(sources);
  return json(404, { error: 'There are /metrics, /livez and /readyz, for GET and HEAD.' });
}

async function healthOf(sources: MonitorSource[]): Promise<HealthPart[]> {
  return (await Promise.all(sources.map((source) => source.health()))).flat();
}

async function metricsOf(sources: MonitorSource[]): Promise<Answer> {
  const exporters = new Set(sources.flatMap(({ exporter }) => exporter ?? []));
  const texts = await Promise.all([
    healthOf(sources).then(readyMetric),
    ...sources.map(({ registry }) => registry?.metrics() ?? ''),
    ...Array.from(exporters, async (url) => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(SCRAPED_WITHIN_MS) });
      return answer.text();
    }),
  ]);
  return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: texts.join('') };
}

/** Of two workers in one process the worse one counts. */
function readyMetric(parts: HealthPart[]): string {
  const ready = new Map<string, boolean>();
  for (const { part, status } of parts) ready.set(part, status === 'ok' && (ready.get(part) ?? true));
  const samples = Array.from(
    ready,
    ([part, isReady]) => `videogen_ready{part="${part}"} ${Number(isReady)}\n`,
  );
  return `# HELP videogen_ready 1 if /readyz finds this part ready, else 0.\n# TYPE videogen_ready gauge\n${samples.join('')}`;
}

/** The worst status says how the whole is. A process that drains is no longer starting. */
const WORST_FIRST: readonly PartStatus[] = ['unready', 'draining', 'starting', 'ok'];

function healthAnswer(parts: HealthPart[]): Answer {
  const status = WORST_FIRST.find((one) => parts.some((part) => part.status === one)) ?? 'ok';
  return json(status === 'ok' ? 200 : 503, { status, parts });
}

function json(status: number, body: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}

const NO_ANSWER = json(503, { error: 'A part of the answer is missing.' });
