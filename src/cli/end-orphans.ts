import { setTimeout as sleep } from 'node:timers/promises';
import { endServersOn, isAlive } from '../temporal-server';
import { acceptsConnections } from '../temporal-server/loopback-port';
import type { StackNote } from './stack-note';

const LOOK_AGAIN_MS = 200;
/** Ten times what is enough when the machine is not busy. */
const ORPHAN_ANSWERS_WITHIN_MS = 20_000;

/** A process that was killed outright may leave its server running, and the server its database locked. */
export async function endOrphans(dbFilename: string, note: StackNote | undefined): Promise<void> {
  if (await endServersOn(dbFilename)) return;
  if (!note || isAlive(note.pid)) return;
  if (!(await answersAsServer(note))) return;
  process.kill(note.serverPid, 'SIGTERM');
  while (isAlive(note.serverPid)) await sleep(LOOK_AGAIN_MS);
}

/**
 * Where command lines cannot be read, another program may have the number of the server by now: it is the server only if
 * it answers as one. On a busy machine it may accept a connection long before it answers; where nobody accepts any,
 * there is no server.
 */
async function answersAsServer(note: StackNote): Promise<boolean> {
  // Seldom needed, and it loads Temporal's SDK, which a start has no time for yet.
  const { connectLocally }: typeof import('./local-client') = require('./local-client');
  const port = Number(note.address.split(':').at(-1));
  const giveUpAtMs = Date.now() + ORPHAN_ANSWERS_WITHIN_MS;
  while (isAlive(note.serverPid) && Date.now() < giveUpAtMs && (await acceptsConnections(port))) {
    const client = await connectLocally(note).catch(() => undefined);
    await client?.connection.close();
    if (client) return true;
  }
  return false;
}
