/** The servers that outlive a killed program, as a database does: Redis, and Temporal's dev server. */
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { startRedis } = require('../peers/servers.cjs');

async function startTemporal() {
  const { readServerOptions } = require('../../dist/src/config/temporal-config');
  const { findDevServer, startDevServer } = require('../../dist/src/temporal-server');
  const server = await startDevServer({
    executable: await findDevServer(readServerOptions()),
    headless: true,
  });
  return { env: { TEMPORAL_ADDRESS: server.address }, stop: () => server.stop() };
}

async function startRedisIn(folder) {
  const { port, stop } = await startRedis(folder);
  return { env: { REDIS_PORT: String(port) }, stop };
}

/** Starts those that the contestants need: `{ env, stop() }`. */
exports.startServers = async (needed) => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-yardstick-'));
  const running = [];
  if (needed.has('redis')) running.push(await startRedisIn(folder));
  if (needed.has('temporal')) running.push(await startTemporal());
  return {
    env: Object.assign({}, ...running.map(({ env }) => env)),
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
