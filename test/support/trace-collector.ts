import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type TraceCollector = Awaited<ReturnType<typeof startTraceCollector>>;

/** An OpenTelemetry collector on this machine that keeps what it gets. */
export async function startTraceCollector() {
  const received: string[] = [];
  const server = createServer(async (request, reply) => {
    received.push(await text(request));
    reply.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** All that was sent. */
    text: () => received.join('\n'),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
