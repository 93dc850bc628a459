import { once } from 'node:events';
import { createServer } from 'node:http';
import { createS3Storage, type S3StorageOptions, type VideoStorage } from '../../src/storage';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

export interface S3Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** No answer ever comes. */
  isNever?: true;
}

export interface ScriptedS3 {
  readonly endpoint: string;
  /** What was asked so far, each as `METHOD /path?query`, in the order it came. */
  readonly calls: string[];
  /** The headers of the last call that has this text in it. */
  headersOf(part: string): Record<string, unknown>;
  /** A storage in its bucket `videos`. */
  storage(options?: Partial<S3StorageOptions>): VideoStorage;
  stop(): Promise<void>;
}

export const s3Error = (status: number, code: string, message = 'no', more = ''): S3Answer => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`,
});

/** An S3 server that answers as a test says, and everything else with an empty 200. */
export async function startScriptedS3(
  answerTo: (call: string) => S3Answer | undefined = () => undefined,
): Promise<ScriptedS3> {
  const asked: { call: string; headers: Record<string, unknown> }[] = [];
  const server = createServer((request, answer) => {
    const call = `${request.method} ${decodeURIComponent(request.url ?? '')}`;
    asked.push({ call, headers: request.headers });
    request.resume().once('end', () => {
      const { status = 200, headers = {}, body = '', isNever } = answerTo(call) ?? {};
      if (isNever) return;
      answer.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body);
    });
  });
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  const endpoint = `http://${LOOPBACK}:${port}`;
  return {
    endpoint,
    get calls() {
      return asked.map(({ call }) => call);
    },
    headersOf: (part) => asked.findLast(({ call }) => call.includes(part))?.headers ?? {},
    storage: (options) =>
      createS3Storage({
        bucket: 'videos',
        endpoint,
        region: 'us-east-1',
        pathStyle: true,
        credentials: { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' },
        ...options,
      }),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
