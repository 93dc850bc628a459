/**
 * What contestants need besides Node: Redis and Temporal's dev server, which outlive a killed program as a database does, and a
 * Python with LiteLLM.
 */
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { startRedis } = require('../peers/servers.cjs');

const STARTS = {
  async redis(folder) {
    const { port, stop, versions } = await startRedis(folder);
    return { env: { REDIS_PORT: String(port) }, stop, versions };
  },
  async temporal() {
    const { readServerOptions } = require('../../dist/src/config/temporal-config');
    const { findDevServer, startDevServer } = require('../../dist/src/temporal-server');
    const executable = await findDevServer(readServerOptions());
    const server = await startDevServer({ executable, headless: true });
    return { env: { TEMPORAL_ADDRESS: server.address }, stop: () => server.stop() };
  },
  async python() {
    const { findPythonWith } = require('../../test/support/python-packages.ts');
    const python = await findPythonWith('litellm', '../../../bench/yardstick/requirements.txt');
    return { env: { PYTHON: python }, stop: () => undefined };
  },
};

/** Starts those that the contestants need: `{ env, versions, absent, stop() }`. `absent` says why one could not be started. */
exports.startServers = async (needed) => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-yardstick-'));
  const running = [];
  const absent = {};
  for (const name of needed) {
    try {
      running.push(await STARTS[name](folder));
    } catch (error) {
      absent[name] = error.message;
    }
  }
  return {
    env: Object.assign({}, ...running.map(({ env }) => env)),
    versions: Object.assign({}, ...running.map(({ versions }) => versions)),
    absent,
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
