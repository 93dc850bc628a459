import { setTimeout as sleep } from 'node:timers/promises';
import { endServersOn, isAlive } from '../temporal-server';
import { acceptsConnections } from '../temporal-server/loopback-port';
import type { StackNote } from './stack-note';

const CHECK_EVERY_MS = 200;
/** Ten times what an idle machine needs. */
const ORPHAN_ANSWERS_WITHIN_MS = 20_000;

/** Ends servers that a killed process left running, because they lock the database. */
export async function endOrphans(dbFilename: string, note: StackNote | undefined): Promise<void> {
  if (await endServersOn(dbFilename)) return;
  if (!note || isAlive(note.pid)) return;
  if (!(await answersAsServer(note))) return;
  process.kill(note.serverPid, 'SIGTERM');
  while (isAlive(note.serverPid)) await sleep(CHECK_EVERY_MS);
}

/**
 * Where command lines cannot be read, another program may have the server's pid by now, so it must answer as a server. On a
 * busy machine a server may accept connections long before it answers.
 */
async function answersAsServer(note: StackNote): Promise<boolean> {
  // Rarely needed, and it loads Temporal's SDK, which would slow down every start.
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
