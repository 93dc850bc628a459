// Lets a program without jest use the servers that the tests use: see temporal-servers.ts.
require('./run-typescript.cjs');
const { readServerOptions } = require('../../src/config/temporal-config');
const { findDevServerForTests, findTestServerForTests } = require('./temporal-servers');

module.exports = async function useTestServers() {
  const onProgress = (line) => process.stderr.write(`${line}\n`);
  const server = { ...readServerOptions(process.env), onProgress };
  process.env.VIDEOGEN_TEMPORAL_CLI = await findDevServerForTests(server);
  process.env.VIDEOGEN_TEST_SERVER = await findTestServerForTests(server);
};
