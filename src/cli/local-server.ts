import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { readEncryptionKeys } from '../config/encryption-config';
import type { Environment } from '../config/read-setting';
import { readDataFolder } from '../config/temporal-config';
import { isAlive, startDevServer } from '../temporal-server';
import { Closers } from './closers';
import { closeDataFiles } from './data-folder';
import { endOrphans } from './end-orphans';
import { findExecutable } from './find-executable';
import { joinOrLock, type LocalStackOptions } from './local-stack';
import { readStackNote, type StackNote } from './stack-note';

const loadClient = (): typeof import('./local-client') => require('./local-client');

/** This machine's own Temporal server. */
export interface LocalServer {
  client: Client;
  /** Of a server that another process runs: one of this command's own has no UI. */
  uiUrl?: string | undefined;
  close(): Promise<void>;
}

/**
 * Joins the local server that runs, or starts it on the jobs of earlier commands, without a worker: whoever only looks must not
 * have a waiting job submitted. Undefined if there were no jobs.
 */
export async function openLocalServer(
  options: Pick<LocalStackOptions, 'env' | 'terminal' | 'printLine' | 'redraw'>,
): Promise<LocalServer | undefined> {
  const { env } = options;
  // A wrong setting fails before anything is joined or started.
  readEncryptionKeys(env);
  const folder = resolve(readDataFolder(env));
  const dbFilename = join(folder, 'temporal.db');
  if (!existsSync(dbFilename)) return undefined;
  const access = await joinOrLock(folder, async () => joinServer(await readStackNote(folder), env), options);
  if ('joined' in access) return access.joined;
  const closers = new Closers(() => access.lock.release());
  try {
    await endOrphans(dbFilename, await readStackNote(folder));
    const executable = await findExecutable(options);
    const logFile = join(folder, 'temporal.log');
    const server = await startDevServer({ executable, dbFilename, logFile, headless: true });
    closers.add(() => server.kill());
    await closeDataFiles(folder);
    const client = await loadClient().connectLocally(server, env, '20s');
    closers.add(() => client.connection.close());
    return { client, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function joinServer(note: StackNote | undefined, env: Environment): Promise<LocalServer | undefined> {
  if (!note || !isAlive(note.pid)) return undefined;
  const client = await loadClient()
    .connectLocally(note, env)
    .catch(() => undefined);
  return client && { client, uiUrl: note.uiUrl, close: () => client.connection.close() };
}
