import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { DEFAULT_MONITOR_HOST, type MonitorAddress } from '../config/monitor-config';
import { ConfigError } from '../config/read-setting';
import { errorCode } from '../contract/error-code';
import { metricsText, TEXT_FORMAT } from './exposition';
import { HealthHistory, type HealthPart, type HealthReport } from './health';
import type { Sample } from './registry';

/** What one worker or gateway of the process says about itself. */
export interface MonitorSource {
  /** Whether it is ready. */
  health(): Promise<HealthPart[]>;
  /** What makes a restart necessary; nothing by default. */
  liveness?(): Promise<HealthPart[]>;
  samples(): Promise<Sample[]>;
  /** Text of another exporter of the process. The same function is called once, however many sources have it. */
  text?: () => Promise<string>;
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
  try {
    const monitor = await opened;
    monitor.sources.add(source);
    return {
      url: monitor.url,
      close: async () => {
        monitor.sources.delete(source);
        if (monitor.sources.size > 0) return;
        if (open.get(key) === opened) open.delete(key);
        await monitor.close();
      },
    };
  } catch (error) {
    if (open.get(key) === opened) open.delete(key);
    throw error;
  }
}

class SharedMonitor {
  readonly sources = new Set<MonitorSource>();
  private readonly history = new HealthHistory();
  private readonly routes: Readonly<Record<string, () => Promise<Answer>>> = {
    '/livez': shared(() => this.live()),
    '/readyz': shared(() => this.ready()),
    '/metrics': shared(() => this.metrics()),
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
    const { status, type, body } = await this.answerTo(request.method, route);
    const headers = { ...HEADERS, 'content-type': type, 'content-length': Buffer.byteLength(body) };
    const cut = setTimeout(() => response.destroy(), READ_WITHIN_MS).unref();
    response.once('close', () => clearTimeout(cut));
    response.writeHead(status, status === 405 ? { ...headers, allow: 'GET, HEAD' } : headers);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  private async answerTo(
    method: string | undefined,
    route: (() => Promise<Answer>) | undefined,
  ): Promise<Answer> {
    if (route === undefined) return json(404, { error: 'There are /metrics, /livez and /readyz.' });
    if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'Only GET and HEAD.' });
    try {
      return await within(route());
    } catch {
      // The error may quote an address; who runs the process finds it in the log of the part.
      return json(503, { error: `No answer within ${ANSWER_WITHIN_MS / 1_000} s, or none at all.` });
    }
  }

  private async live(): Promise<Answer> {
    return asAnswer(new HealthHistory().report(await this.collect((source) => source.liveness?.())));
  }

  private async ready(): Promise<Answer> {
    return asAnswer(await this.readiness());
  }

  private async readiness(): Promise<HealthReport> {
    return this.history.report(await this.collect((source) => source.health()));
  }

  private async metrics(): Promise<Answer> {
    const texts = new Set([...this.sources].flatMap(({ text }) => text ?? []));
    const [samples, report, ...others] = await Promise.all([
      this.collect((source) => source.samples()),
      this.readiness(),
      ...[...texts].map((text) => text()),
    ]);
    const ready = report.parts.map(
      ({ part, service, status }): Sample => ({
        metric: 'videogen_ready',
        labels: { part, ...(service !== undefined && { service }) },
        value: status === 'ok' ? 1 : 0,
      }),
    );
    return {
      status: 200,
      type: TEXT_FORMAT,
      body: [metricsText([...ready, ...samples]), ...others].join(''),
    };
  }

  private async collect<T>(from: (source: MonitorSource) => Promise<T[]> | undefined): Promise<T[]> {
    return (await Promise.all([...this.sources].map(async (source) => (await from(source)) ?? []))).flat();
  }
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

/** Who asks while an answer is made gets the same one: more scrapers cost nothing. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
}

async function within<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), ANSWER_WITHIN_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

const asAnswer = (report: HealthReport): Answer => json(report.status === 'ok' ? 200 : 503, report);

function json(status: number, body: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}
