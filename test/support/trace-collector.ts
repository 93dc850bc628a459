import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP writes it in JSON. */
export interface ExportedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Record<string, unknown>;
  /** 2 for an error. */
  status: { code?: number; message?: string };
  events: unknown[];
}

export interface TraceCollector {
  url: string;
  /** All that was sent. */
  text(): string;
  spans(): ExportedSpan[];
  close(): Promise<void>;
}

/** An OpenTelemetry collector on this machine that writes what it gets to a file. */
export async function startTraceCollector(file: string): Promise<TraceCollector> {
  appendFileSync(file, '');
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    appendFileSync(file, `${Buffer.concat(chunks)}\n`);
    reply.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const text = () => readFileSync(file, 'utf8');
  return {
    url: `http://127.0.0.1:${port}`,
    text,
    spans: () =>
      text()
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => JSON.parse(line).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans)
        .map(({ attributes = [], events = [], status = {}, ...span }) => ({
          ...span,
          status,
          events,
          attributes: Object.fromEntries(
            attributes.map(({ key, value }: { key: string; value: Record<string, unknown> }) => [
              key,
              Number(value.intValue ?? Number.NaN) || value.stringValue,
            ]),
          ),
        })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
