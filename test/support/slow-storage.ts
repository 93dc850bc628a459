import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VideoStorage } from '../../src/storage';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

export interface SlowWrite {
  /** In a bucket, with its prefix in front. */
  key: RegExp;
  /** Which of the writes with such a key, counted from 1; the first unless given. */
  nth?: number | 'every';
  /** Forever means until `land` is called. */
  delayMs: number | 'forever';
}

/** Which writes of a storage are slow. Give it to one storage. A slow write lands although its writer has given it up. */
export class SlowWrites {
  private readonly plan: { write: SlowWrite; seen: number }[];
  private readonly releases: (() => void)[] = [];
  private readonly landing = new Set<Promise<unknown>>();
  private heldCount = 0;

  constructor(...writes: SlowWrite[]) {
    this.plan = writes.map((write) => ({ write, seen: 0 }));
  }

  /** How many writes have been slow so far. */
  get held(): number {
    return this.heldCount;
  }

  /** Lets stalled writes go on, and waits until every slow write has landed or was refused. */
  async land(): Promise<void> {
    for (const release of this.releases.splice(0)) release();
    await Promise.allSettled([...this.landing]);
  }

  /** Runs a write, late if it is one of the slow ones. */
  async run<T>(key: string, write: () => Promise<T>): Promise<T> {
    const slow = this.next(key);
    if (slow === undefined) return write();
    this.heldCount += 1;
    const landing = this.runLate(slow, write);
    this.landing.add(landing);
    const done = () => this.landing.delete(landing);
    landing.then(done, done);
    return landing;
  }

  private async runLate<T>(slow: SlowWrite, write: () => Promise<T>): Promise<T> {
    await this.wait(slow);
    return write();
  }

  private next(key: string): SlowWrite | undefined {
    const matching = this.plan.filter(({ write }) => write.key.test(key));
    for (const each of matching) each.seen += 1;
    return matching.find(({ write: { nth = 1 }, seen }) => nth === 'every' || seen === nth)?.write;
  }

  private async wait({ delayMs }: SlowWrite): Promise<void> {
    if (delayMs === 'forever') await new Promise<void>((release) => this.releases.push(release));
    else await sleep(delayMs);
  }
}

/** A storage whose calls of `create` and `write` are slow. */
export function slowStorage(storage: VideoStorage, writes: SlowWrites): VideoStorage {
  return {
    ...storage,
    write: (key, ...rest) => writes.run(key, () => storage.write(key, ...rest)),
    create: (key, content) => writes.run(key, () => storage.create(key, content)),
  };
}

export interface SlowS3 {
  /** Use it instead of the server's. */
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** A proxy before an S3 server whose PUTs are slow: it takes the whole of one, and passes it on later. */
export async function startSlowS3(upstream: string, writes: SlowWrites): Promise<SlowS3> {
  const pass = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const body = await buffer(incoming);
    // Its host is signed, and stays.
    const { expect: _, ...headers } = incoming.headers;
    const send = () => exchange(new URL(incoming.url ?? '/', upstream), incoming.method, headers, body);
    const key = decodeURIComponent(new URL(incoming.url ?? '/', upstream).pathname);
    const answered = await (incoming.method === 'PUT' ? writes.run(key, send) : send());
    answer.writeHead(answered.status, answered.headers).end(answered.body);
  };
  const server = createServer();
  server.on('request', (incoming, answer) => {
    pass(incoming, answer).catch(() => answer.destroy());
  });
  server.on('checkContinue', (incoming, answer) => {
    answer.writeContinue();
    pass(incoming, answer).catch(() => answer.destroy());
  });
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  return {
    endpoint: `http://${LOOPBACK}:${port}`,
    async stop() {
      await writes.land();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Exchange {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

async function exchange(
  url: URL,
  method: string | undefined,
  headers: IncomingHttpHeaders,
  body: Buffer,
): Promise<Exchange> {
  const onward = request(url, { method, headers, agent: false });
  onward.end(body);
  const [answered]: IncomingMessage[] = await once(onward, 'response');
  if (answered === undefined) throw new Error('no answer');
  return {
    status: answered.statusCode ?? 500,
    headers: answered.headers,
    body: await buffer(answered),
  };
}
