/** Temporal's dev server for a bench, and what a bench does with it. */
const { mkdtemp, rm } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Client, Connection } = require('@temporalio/client');
const { DefaultLogger, NativeConnection, Runtime } = require('@temporalio/worker');
const { readServerOptions } = require('../../dist/src/config/temporal-config');
const { findDevServer, startDevServer } = require('../../dist/src/temporal-server');

/** Runs work in a temporary folder. */
exports.inFolder = async (work) => {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Runs work on a dev server of its own: `{ server, client, connection, version }`. Logs only errors. */
exports.withDevServer = async (work) => {
  // Each refusal would log a warning of many lines.
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
  });
  const connection = await NativeConnection.connect({ address: server.address });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  try {
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    return await work({ server, client, connection, version: serverVersion });
  } finally {
    await connection.close().catch(() => undefined);
    await client.connection.close();
    await server.stop();
  }
};
