import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const LOOPBACK = '127.0.0.1';

/** Returns a port of the loopback interface that is not in use. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server, 0);
  // The system does not hand out a port that has just closed a connection, so no other starting server gets this one.
  const accepted: Promise<Socket[]> = once(server, 'connection');
  const client = connect(port, LOOPBACK);
  for (const socket of await accepted) socket.end();
  await once(client.resume(), 'close');
  await close(server);
  return port;
}

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, port);
  } catch {
    return false;
  }
  await close(server);
  return true;
}

/** True if the port accepts connections. */
export async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect(port, LOOPBACK);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const CHECK_EVERY_MS = 100;

/** Waits until `port` accepts connections. */
export async function untilPortOpen(port: number, signal: AbortSignal): Promise<void> {
  while (!(await acceptsConnections(port))) await sleep(CHECK_EVERY_MS, undefined, { signal });
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
