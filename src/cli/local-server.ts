import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { readEncryptionKeys } from '../config/encryption-config';
import type { Environment } from '../config/read-setting';
import { readDataFolder, readServerOptions } from '../config/temporal-config';
import {
  type DevServer,
  type DevServerOptions,
  endServersOn,
  findDevServer,
  startDevServer,
} from '../temporal-server';
import { Closers } from './closers';
import { closeDataFiles } from './data-folder';
import type { LogTerminal } from './open-log';
import { joinOrClaim, type StackClaim, type StackNote } from './stack-note';
import type { Terminal } from './terminal';

const loadClient = (): typeof import('./local-client') => require('./local-client');

/** What finding or starting a server needs. */
export interface LocalServerOptions {
  env: Environment;
  printLine: (line: string) => void;
  /** Replaces the last line, on a terminal. */
  redraw?: ((line: string) => void) | undefined;
  /** Its Ctrl-C ends a download and the wait for another process, and it gets the log. */
  terminal: Pick<Terminal, 'onInterrupt'> & LogTerminal;
}

/** This machine's own Temporal server. */
export interface LocalServer {
  client: Client;
  /** Set for the server of another process: one that this command starts has no UI. */
  uiUrl?: string | undefined;
  close(): Promise<void>;
}

/**
 * Joins the local server that runs, or starts one on the jobs of earlier commands. It starts no worker: a command that only looks must
 * not have a waiting job submitted. Undefined if there were no jobs.
 */
export async function openLocalServer(options: LocalServerOptions): Promise<LocalServer | undefined> {
  const { env } = options;
  const folder = resolve(readDataFolder(env));
  // An invalid setting fails before anything is joined or started.
  readEncryptionKeys(env);
  if (!existsSync(databaseIn(folder))) return undefined;
  return whileOpen(async (closers) => {
    const access = await joinOrClaim(folder, (note) => connectTo(note, env), options);
    const { client, uiUrl } =
      'joined' in access
        ? { client: access.joined.client, uiUrl: access.joined.note.uiUrl }
        : await startServer(access.claim, { folder, closers }, options, { headless: true });
    closers.add(() => client.connection.close());
    return { client, uiUrl, close: () => closers.close() };
  });
}

/** Closes what was opened if the rest fails. */
export async function whileOpen<T>(open: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await open(closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

export interface JoinedServer {
  client: Client;
  note: StackNote;
}

/** Undefined if no server answers at the noted address. */
export async function connectTo(note: StackNote, env: Environment): Promise<JoinedServer | undefined> {
  const client = await loadClient()
    .connectLocally(note, env)
    .catch(() => undefined);
  return client && { client, note };
}

const databaseIn = (folder: string) => join(folder, 'temporal.db');

/** Starts a server on the jobs of a data folder, which the claim allows. */
export async function startServer(
  claim: StackClaim,
  { folder, closers }: { folder: string; closers: Closers },
  { env, terminal, printLine, redraw }: LocalServerOptions,
  start: Omit<DevServerOptions, 'executable'>,
): Promise<DevServer & { client: Client }> {
  closers.add(() => claim.release());
  const dbFilename = databaseIn(folder);
  await endServersOn(dbFilename);
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort('Ctrl-C was pressed'));
  const executable = await findDevServer({
    ...readServerOptions(env),
    onProgress: printLine,
    onRedraw: redraw,
    signal: interrupted.signal,
  }).finally(stopListening);
  const logFile = join(folder, 'temporal.log');
  const server = await startDevServer({ executable, dbFilename, logFile, ...start });
  // Everything that it accepted is on disk. SIGTERM would only wait two seconds for its own pollers.
  closers.add(() => server.kill());
  await closeDataFiles(folder);
  return { ...server, client: await loadClient().connectLocally(server, env, '20s') };
}
