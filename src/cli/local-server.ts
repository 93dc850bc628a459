import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { readEncryptionKeys } from '../config/operation-config';
import { ConfigError } from '../config/service-config';
import { readDataFolder, readServerOptions } from '../config/temporal-config';
import { errorCode } from '../contract/error-code';
import { type DevServer, type DevServerOptions, findDevServer, startDevServer } from '../temporal-server';
import type { Closers } from './closers';
import { joinOrClaim, type StackClaim, type StackNote } from './stack-note';
import { printLine, type Terminal } from './terminal';

/** It loads Temporal's SDK, and a local server starts meanwhile. */
const load = (): typeof import('./find-temporal') => require('./find-temporal');

/** This machine's own Temporal server, run by another process with its note, or by this one with its claim. */
export type LocalServer =
  | { client: Client; joined: StackNote }
  | { client: Client; joined?: undefined; server: DevServer; claim: StackClaim };

export const databaseOf = (env: Terminal['env']) => join(resolve(readDataFolder(env)), 'temporal.db');

/** Joins the local server that runs, or starts one on the jobs of earlier commands. Jobs are stored in a file and outlive both. */
export async function openLocalServer(
  terminal: Terminal,
  closers: Closers,
  start: Omit<DevServerOptions, 'executable'>,
): Promise<LocalServer> {
  const { env } = terminal;
  const folder = resolve(readDataFolder(env));
  // An invalid setting fails before anything is joined or started.
  readEncryptionKeys(env);
  await makeDataFolder(folder);
  const join = async (note: StackNote) => {
    const client = await load()
      .connectLocally(note, env)
      .catch(() => undefined);
    return client && { client, joined: note };
  };
  const access = await joinOrClaim(folder, join, terminal);
  if ('joined' in access) return access.joined;
  const { claim } = access;
  closers.add(() => claim.release());
  const server = await startServer(terminal, start);
  closers.add(() => server.stop());
  return { client: await load().connectLocally(server, env, '20s'), server, claim };
}

async function startServer(
  terminal: Terminal,
  start: Omit<DevServerOptions, 'executable'>,
): Promise<DevServer> {
  const { env } = terminal;
  const interrupted = new AbortController();
  const stopListening = terminal.onInterrupt(() => interrupted.abort('Ctrl-C was pressed'));
  const executable = await findDevServer({
    ...readServerOptions(env),
    onProgress: (line) => printLine(terminal, line),
    signal: interrupted.signal,
  }).finally(stopListening);
  const logFile = join(resolve(readDataFolder(env)), 'temporal.log');
  return startDevServer({ executable, dbFilename: databaseOf(env), logFile, ...start });
}

async function makeDataFolder(folder: string): Promise<void> {
  // The server parses its database path as an SQLite URI, but uses the folder unparsed, so escaping does not help.
  if (/[?#%]/.test(folder)) {
    throw new ConfigError(
      `The data folder ${folder} has ?, # or % in its path, which the Temporal dev server misreads: set VIDEOGEN_DATA to a folder without them.`,
    );
  }
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new ConfigError(
      `The data folder ${folder} cannot be used (${errorCode(error)}): set VIDEOGEN_DATA to a folder you can write to.`,
    );
  });
}
