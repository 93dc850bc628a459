import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import { DEFAULT_MONITOR_HOST, type MonitorAddress } from '../config/monitor-config';
import { ConfigError } from '../config/read-setting';
import { errorCode } from '../contract/error-code';

/** `starting` and `draining` are not ready either, but nothing is wrong. */
export type PartStatus = 'ok' | 'starting' | 'draining' | 'unready';

/** One thing that has to be so for the process to be ready. */
export interface HealthPart {
  part: 'polling' | 'temporal' | 'service' | 'gateway';
  /** Of several services: the name of this one. */
  service?: string;
  status: PartStatus;
  /** Why it is not ok, without secrets. */
  reason?: string;
  /** Milliseconds since 1970, if the part knows it better than who asks. */
  sinceMs?: number;
}

/** What /readyz and /livez answer. */
export interface HealthReport {
  status: PartStatus;
  parts: (Omit<HealthPart, 'sinceMs'> & { since: string })[];
}

/** What one worker or gateway of the process says about itself. */
export interface MonitorSource {
  /** Whether it is ready. */
  health(): Promise<HealthPart[]>;
  /** What makes a restart necessary; nothing by default. */
  liveness?(): HealthPart[];
  /** Its metrics in Prometheus' text format. The same function is called once, however many sources have it. */
  text?: (() => Promise<string>) | undefined;
}

/** A running monitor. */
export interface Monitor {
  /** Its address, such as http://127.0.0.1:9464. */
  url: string;
  /** Takes its source away; the last one closes the port. */
  close(): Promise<void>;
}

/** Probes and scrapers are few, and their requests small. */
const MOST_CONNECTIONS = 32;
const LARGEST_HEADERS_BYTES = 8 * 1024;
const REQUEST_WITHIN_MS = 5_000;
/** Below what Prometheus waits for by default, which is 10 s. */
const ANSWER_WITHIN_MS = 8_000;
/** A reader that takes longer would keep one of the few connections from the probes. */
const READ_WITHIN_MS = 10_000;

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' };

/** By host and port: all workers of a process share one monitor. */
const open = new Map<string, Promise<SharedMonitor>>();

/**
 * Serves `/metrics`, `/livez` and `/readyz` of the given source. Its answers have no secrets, and it takes no input but the
 * path, so it needs no key.
 */
export async function openMonitor(
  { host = DEFAULT_MONITOR_HOST, port }: MonitorAddress,
  source: MonitorSource,
): Promise<Monitor> {
  const key = `${host} ${port}`;
  const opened = (port > 0 && open.get(key)) || SharedMonitor.listen(host, port);
  if (port > 0) open.set(key, opened);
  const forget = () => {
    if (open.get(key) === opened) open.delete(key);
  };
  try {
    const monitor = await opened;
    monitor.sources.add(source);
    return {
      url: monitor.url,
      close: async () => {
        monitor.sources.delete(source);
        if (monitor.sources.size > 0) return;
        forget();
        await monitor.close();
      },
    };
  } catch (error) {
    forget();
    throw error;
  }
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

class SharedMonitor {
  readonly sources = new Set<MonitorSource>();
  private readonly seen: Seen = new Map();
  private readonly registry = new Registry();
  private readonly readyGauge = new Gauge({
    name: 'videogen_ready',
    help: '1 if /readyz finds this part ready, else 0.',
    labelNames: ['part', 'service'] as const,
    registers: [this.registry],
  });
  private readonly routes: Readonly<Record<string, () => Promise<Answer>>> = {
    '/livez': async () => healthAnswer(this.liveness()),
    '/readyz': async () => healthAnswer(await this.readiness()),
    '/metrics': () => this.metrics(),
  };

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async listen(host: string, port: number): Promise<SharedMonitor> {
    const server = createServer({
      maxHeaderSize: LARGEST_HEADERS_BYTES,
      headersTimeout: REQUEST_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      connectionsCheckingInterval: REQUEST_WITHIN_MS,
    });
    server.maxConnections = MOST_CONNECTIONS;
    server.listen(port, host);
    try {
      await once(server, 'listening');
    } catch (error) {
      throw new ConfigError(
        `The monitor cannot listen on ${host}, port ${port} (${errorCode(error) ?? error}): set VIDEOGEN_MONITOR_PORT to another port, with an address of this machine.`,
        { cause: error },
      );
    }
    // The monitor alone does not keep the process alive.
    server.unref();
    const address = server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return new SharedMonitor(server, `http://${host.includes(':') ? `[${host}]` : host}:${bound}`);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Nobody reads a body, and one that is sent all the same ends with its connection.
    const [path = ''] = (request.url ?? '').split('?');
    const route = Object.hasOwn(this.routes, path) ? this.routes[path] : undefined;
    const { status, type, body } = await answerTo(request.method, route);
    const headers = { ...HEADERS, 'content-type': type, 'content-length': Buffer.byteLength(body) };
    const cut = setTimeout(() => response.destroy(), READ_WITHIN_MS).unref();
    response.once('close', () => clearTimeout(cut));
    response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  private liveness(): HealthReport {
    const parts = [...this.sources].flatMap((source) => source.liveness?.() ?? []);
    return reportOf(parts, new Map());
  }

  private async readiness(): Promise<HealthReport> {
    const parts = await Promise.all([...this.sources].map((source) => source.health()));
    return reportOf(parts.flat(), this.seen);
  }

  private async metrics(): Promise<Answer> {
    const texts = new Set([...this.sources].flatMap(({ text }) => text ?? []));
    const [{ parts }, ...others] = await Promise.all([this.readiness(), ...[...texts].map((text) => text())]);
    this.readyGauge.reset();
    for (const { part, service, status } of parts)
      this.readyGauge.set({ part, ...(service !== undefined && { service }) }, status === 'ok' ? 1 : 0);
    const body = [await this.registry.metrics(), ...others].join('');
    return { status: 200, type: this.registry.contentType, body };
  }
}

/** The worst status says how the whole is. A process that drains is no longer starting. */
const WORST_FIRST: readonly PartStatus[] = ['unready', 'draining', 'starting', 'ok'];

/** Since when each part is as it is. */
type Seen = Map<string, { status: PartStatus; sinceMs: number }>;

/** The worst of parts with the same name counts, such as two workers of a process. */
function reportOf(parts: readonly HealthPart[], seen: Seen): HealthReport {
  const worst = new Map<string, HealthPart>();
  for (const one of parts) {
    const known = worst.get(idOf(one));
    if (known === undefined || rank(one) < rank(known)) worst.set(idOf(one), one);
  }
  const reported = [...worst.values()].map(({ sinceMs, ...one }) => ({
    ...one,
    since: new Date(sinceMs ?? sinceOf(one, seen)).toISOString(),
  }));
  // One of several services is enough: its jobs are made.
  const isServed = reported.some(({ part, status }) => part === 'service' && status === 'ok');
  const counted = reported.filter(({ part, status }) => part !== 'service' || status === 'ok' || !isServed);
  const status = WORST_FIRST.find((one) => counted.some((part) => part.status === one)) ?? 'ok';
  return { status, parts: reported };
}

function sinceOf(one: HealthPart, seen: Seen): number {
  const before = seen.get(idOf(one));
  if (before?.status === one.status) return before.sinceMs;
  const sinceMs = Date.now();
  seen.set(idOf(one), { status: one.status, sinceMs });
  return sinceMs;
}

const idOf = ({ part, service = '' }: HealthPart) => `${part}/${service}`;

const rank = ({ status }: HealthPart) => WORST_FIRST.indexOf(status);

async function answerTo(method: string | undefined, route: (() => Promise<Answer>) | undefined) {
  if (route === undefined) return json(404, { error: 'There are /metrics, /livez and /readyz.' });
  if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'Only GET and HEAD.' });
  try {
    return await within(route(), ANSWER_WITHIN_MS);
  } catch {
    // The error may quote an address; who runs the process finds it in the log of the part.
    return json(503, { error: `No answer within ${ANSWER_WITHIN_MS / 1_000} s, or none at all.` });
  }
}

/** Rejects when the answer takes longer. */
export async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

const healthAnswer = (report: HealthReport) => json(report.status === 'ok' ? 200 : 503, report);

function json(status: number, body: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}
