import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { type DevServer, type DevServerOptions, startDevServer } from '../../src/temporal-server';
import { eventually } from '../temporal-server/eventually';

const executable = process.env.VIDEOGEN_TEMPORAL_CLI ?? '';
const RUN_SERVER = join(__dirname, '..', 'temporal-server', 'run-server.cjs');

let folder: string;
const started: DevServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dev-server-'));
});

afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(options: Omit<DevServerOptions, 'executable'> = {}): Promise<DevServer> {
  const server = await startDevServer({ executable, headless: true, ...options });
  started.push(server);
  return server;
}

async function withClient<T>(server: DevServer, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address });
  try {
    return await use(new Client({ connection, namespace: server.namespace }));
  } finally {
    await connection.close();
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a dev server with a UI and a log file accepts workflows at once, keeps others from its port, and ends when it is stopped', async () => {
  const logFile = join(folder, 'temporal.log');
  const server = await start({ headless: false, logFile });
  const description = await withClient(server, async (client) => {
    const handle = await client.workflow.start('makeFilm', { workflowId: 'film-1', taskQueue: 'nobody' });
    return await handle.describe();
  });
  expect([server.namespace, description.status.name]).toEqual(['default', 'RUNNING']);
  expect(server.uiUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(server.uiUrl ?? '')).status).toBe(200);
  const port = Number(server.address.split(':')[1]);
  await expect(start({ port })).rejects.toThrow(
    new Error(
      `The Temporal dev server cannot start on 127.0.0.1:${port} because that port is in use: ` +
        'stop what listens there, or choose another port.',
    ),
  );
  // It introduces itself when it is up, which may be a moment after it answers.
  await eventually('its output', () => readFileSync(logFile, 'utf8').includes('Temporal'));
  expect(isRunning(server.pid)).toBe(true);
  await server.stop();
  await server.stop();
  expect(isRunning(server.pid)).toBe(false);
});

test('a server that ends before it is ready is reported with its last output', async () => {
  const dbFilename = join(folder, 'no', 'such', 'folder', 'temporal.db');

  await expect(start({ dbFilename })).rejects.toThrow(
    /ended with code 1: Error: failed starting server.*no such file/,
  );
});

test('a dev server neither keeps its parent from ending nor outlives it', async () => {
  const args = [RUN_SERVER, 'startDevServer', JSON.stringify({ executable, headless: true })];

  const { stdout } = await promisify(execFile)(process.execPath, args);

  const { pid }: { pid: number } = JSON.parse(stdout);
  expect(pid).toBeGreaterThan(0);
  await eventually('the server is gone', () => !isRunning(pid));
});
