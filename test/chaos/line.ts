import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a line does to what passes. `reset` is over at once; the others last. */
export type LineTrouble =
  | { kind: 'reset' }
  /** Ends all connections, and refuses new ones. */
  | { kind: 'cut'; ms: number }
  /** Nothing passes, and nobody is told. */
  | { kind: 'stall'; ms: number }
  /** Everything passes this much later. */
  | { kind: 'slow'; ms: number; delayMs: number };

const LOOPBACK = '127.0.0.1';

/** A TCP proxy between two programs. What was sent before the sender died still arrives, as on a network. */
export class Line {
  private readonly pairs = new Set<{ near: Socket; far: Socket }>();
  private readonly server = createServer((near) => this.open(near));
  private cutUntilMs = 0;
  private stalledUntilMs = 0;
  private slowUntilMs = 0;
  private delayMs = 0;
  private readonly posts: ((text: string) => void)[] = [];

  private constructor(
    readonly name: string,
    private readonly toPort: number,
  ) {}

  static async open(name: string, toPort: number): Promise<Line> {
    const line = new Line(name, toPort);
    line.server.listen(0, LOOPBACK);
    await once(line.server, 'listening');
    return line;
  }

  get address(): string {
    return `${LOOPBACK}:${(this.server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.pairs.size;
  }

  trouble(trouble: LineTrouble): void {
    const untilMs = trouble.kind === 'reset' ? 0 : Date.now() + trouble.ms;
    switch (trouble.kind) {
      case 'reset':
        this.endAll('reset');
        break;
      case 'cut':
        this.cutUntilMs = untilMs;
        this.endAll('end');
        break;
      case 'stall':
        this.stalledUntilMs = untilMs;
        break;
      case 'slow':
        this.slowUntilMs = untilMs;
        this.delayMs = trouble.delayMs;
    }
  }

  /** Told what a POST says when it enters the line. */
  onPost(tell: (text: string) => void): () => void {
    this.posts.push(tell);
    return () => void this.posts.splice(this.posts.indexOf(tell), 1);
  }

  heal(): void {
    this.cutUntilMs = this.stalledUntilMs = this.slowUntilMs = 0;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.endAll('reset');
    await closed;
  }

  private endAll(how: 'reset' | 'end'): void {
    for (const { near, far } of this.pairs) {
      if (how === 'reset') near.resetAndDestroy();
      else near.destroy();
      far.destroy();
    }
  }

  private open(near: Socket): void {
    if (Date.now() < this.cutUntilMs) {
      near.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const far = connect(this.toPort, LOOPBACK);
    const pair = { near, far };
    this.pairs.add(pair);
    near.on('data', (sent) => {
      const text = sent.toString('latin1');
      if (text.startsWith('POST ')) for (const tell of [...this.posts]) tell(text);
    });
    this.carry(near, far);
    this.carry(far, near);
    const left = new Set([near, far]);
    for (const socket of left)
      socket.once('close', () => {
        left.delete(socket);
        if (left.size === 0) this.pairs.delete(pair);
      });
  }

  /** In order, each piece as late as the line is slow when it comes. */
  private carry(from: Socket, to: Socket): void {
    let sent = Promise.resolve();
    const later = (pass: () => void) => {
      const enteredMs = Date.now();
      sent = sent.then(async () => {
        if (enteredMs < this.slowUntilMs) await sleep(enteredMs + this.delayMs - Date.now());
        while (Date.now() < this.stalledUntilMs) await sleep(this.stalledUntilMs - Date.now());
        pass();
      });
    };
    from.setNoDelay();
    from.on('data', (piece) => later(() => to.writable && to.write(piece)));
    from.once('end', () => later(() => to.end()));
    from.once('error', () => later(() => to.destroy()));
    from.once('close', () => later(() => to.destroySoon()));
  }
}
