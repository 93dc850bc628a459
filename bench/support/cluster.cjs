/** A Temporal server as it is deployed: on PostgreSQL, with the programs of the server's image as processes on loopback. */
const { execFileSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client, Connection } = require('@temporalio/client');
const { start, startPostgres } = require('../peers/servers.cjs');
require('../../test/support/run-sources.cjs');
const { findClusterProgram } = require('../../test/support/temporal-cluster.ts');

const USER = 'postgres';
const DATABASES = { temporal: 'temporal', temporal_visibility: 'visibility' };
/** The ports that the server's own configuration reads from the environment. */
const PORTS = ['FRONTEND', 'HISTORY', 'MATCHING', 'WORKER'].flatMap((service) => [
  `${service}_GRPC_PORT`,
  `${service}_MEMBERSHIP_PORT`,
]);
const NAMESPACE = 'default';
const RETENTION_SECONDS = 86_400;

function setUpSchema(sqlTool, port) {
  const tool = (...args) =>
    execFileSync(
      sqlTool,
      ['--plugin', 'postgres12', '--ep', '127.0.0.1', '--port', String(port), '--user', USER, ...args],
      { stdio: 'pipe' },
    );
  for (const [database, schema] of Object.entries(DATABASES)) {
    tool('--db', database, 'create');
    tool('--db', database, 'setup-schema', '-v', '0.0');
    tool('--db', database, 'update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

/** The server keeps ports in a column of PostgreSQL's `smallint`, and systems give away larger ones. */
async function freeSmallPort() {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

async function startServer(program, databasePort, folder) {
  const ports = Object.fromEntries(
    await Promise.all(
      [...PORTS, 'FRONTEND_HTTP_PORT'].map(async (name) => [name, String(await freeSmallPort())]),
    ),
  );
  const dynamicConfig = join(folder, 'dynamic-config.yaml');
  writeFileSync(dynamicConfig, 'frontend.enableServerVersionCheck:\n  - value: false\n');
  const env = {
    PATH: process.env.PATH,
    ...ports,
    DB: 'postgres12',
    DB_PORT: String(databasePort),
    POSTGRES_SEEDS: '127.0.0.1',
    POSTGRES_USER: USER,
    POSTGRES_PWD: '',
    BIND_ON_IP: '127.0.0.1',
    TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: dynamicConfig,
    LOG_LEVEL: 'error',
  };
  // Without a folder `config`, the server takes the configuration of its image, which reads the environment.
  const running = await start(program, ['start'], {
    env,
    cwd: folder,
    ports: [Number(ports.FRONTEND_GRPC_PORT)],
  });
  return { ...running, address: `127.0.0.1:${ports.FRONTEND_GRPC_PORT}` };
}

/** A namespace is served some seconds after it was made. */
async function untilServed(client) {
  const { workflowService } = client;
  for (let attempt = 1; ; attempt++) {
    try {
      await workflowService.registerNamespace({
        namespace: NAMESPACE,
        workflowExecutionRetentionPeriod: { seconds: RETENTION_SECONDS },
      });
    } catch (error) {
      if (!/already/i.test(error.message) && attempt > 60) throw error;
    }
    try {
      await workflowService.listWorkflowExecutions({ namespace: NAMESPACE, pageSize: 1 });
      return;
    } catch (error) {
      if (attempt > 120) throw error;
      await sleep(500);
    }
  }
}

/** Starts it: `{ address, client, pids: { server, database }, versions, stop() }`. The caller may start the database in its own way. */
exports.startCluster = async (say = () => {}, startDatabase = startPostgres) => {
  say('Temporal server and SQL tool: from the cache, or built with Go in some minutes ...');
  const server = await findClusterProgram('temporal-server');
  const sqlTool = await findClusterProgram('temporal-sql-tool');
  const folder = mkdtempSync(join(tmpdir(), 'videogen-cluster-'));
  // Of its own, because another user may own it.
  const databaseFolder = mkdtempSync(join(tmpdir(), 'videogen-database-'));
  const running = [];
  const stop = async () => {
    for (const { stop: end } of running.reverse()) await end();
    for (const one of [folder, databaseFolder]) rmSync(one, { recursive: true, force: true });
  };
  try {
    const database = await startDatabase(databaseFolder);
    running.push(database);
    setUpSchema(sqlTool, database.port);
    const temporal = await startServer(server, database.port, folder);
    running.push(temporal);
    const connection = await Connection.connect({ address: temporal.address, connectTimeout: '60s' });
    running.push({ stop: () => connection.close() });
    const client = new Client({ connection });
    await untilServed(client);
    const { serverVersion } = await client.workflowService.getSystemInfo({});
    return {
      address: temporal.address,
      client,
      pids: { server: temporal.pid, database: database.pid },
      versions: { 'Temporal server': serverVersion, ...database.versions },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};
