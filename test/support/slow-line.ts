import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SlowLine {
  /** Use it instead of the target's address. */
  address: string;
  close(): Promise<void>;
}

/** A proxy that delays what is sent to the target. If the sender dies meanwhile, the data is lost. */
export async function startSlowLine(to: string, delayMs: number): Promise<SlowLine> {
  const [host, port] = to.split(':');
  const sockets = new Set<Socket>();
  const line = createServer((near) => {
    const far = connect(Number(port), host);
    const hangUp = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay().on('error', hangUp).on('end', hangUp);
      socket.on('close', () => {
        sockets.delete(socket);
        hangUp();
      });
    }
    near.on('data', (sent) => {
      setTimeout(() => far.writable && far.write(sent), delayMs);
    });
    far.on('data', (answered) => near.writable && near.write(answered));
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  return {
    address: `127.0.0.1:${(line.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(line, 'close');
      line.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
