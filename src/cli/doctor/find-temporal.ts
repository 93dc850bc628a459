import type { Connection } from '@temporalio/client';
import type { Environment } from '../../config/service-config';
import { readDataFolder, readTemporalConfig } from '../../config/temporal-config';
import { isAlive } from '../../temporal-server';
import type { Closers } from '../closers';
import { readStackNote } from '../stack-note';
import { reachServer } from './reach-server';
import { findServerAtHand, type ServerAtHand } from './server-at-hand';

/** A server that answers: the configured one, or the one of a `videogen dev` on this machine. */
export interface TemporalServer {
  kind: 'named' | 'local';
  address: string;
  namespace: string;
  connection: Connection;
  version: string;
}

export type Temporal =
  | TemporalServer
  | { kind: 'silent'; address: string; problem: string; refused: boolean }
  | { kind: 'none'; available: ServerAtHand };

/** Finds the Temporal server that `generate` would use. Starts, downloads and builds nothing. */
export async function findTemporal(env: Environment, closers: Closers): Promise<Temporal> {
  const { connectionOptions, namespace = 'default' } = readTemporalConfig(env);
  const { address } = connectionOptions;
  if (address !== undefined) {
    const reached = await reachServer({ ...connectionOptions, address }, closers);
    return 'problem' in reached
      ? { kind: 'silent', address, ...reached }
      : { kind: 'named', address, namespace, ...reached };
  }
  return (await findLocal(env, closers)) ?? { kind: 'none', available: await findServerAtHand(env) };
}

/** Undefined if no local stack runs. */
async function findLocal(env: Environment, closers: Closers): Promise<TemporalServer | undefined> {
  const note = await readStackNote(readDataFolder(env));
  if (!note || !isAlive(note.pid)) return undefined;
  const { address, namespace } = note;
  const reached = await reachServer({ address }, closers);
  return 'problem' in reached ? undefined : { kind: 'local', address, namespace, ...reached };
}
