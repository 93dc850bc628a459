// Lets schemathesis call every route of a running gateway with valid and broken requests: `npm run schemathesis`, about
// 3 min. Arguments after `--` go to schemathesis, such as `-- --max-examples 500 --seed 7`. Ends with its exit code: 0 when
// every answer was documented and none was a 5xx.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { DefaultLogger, Runtime } = require('@temporalio/worker');
require('../support/run-sources.cjs');
const { createVideoGateway } = require('../../src/gateway/index.ts');
const { makeKey } = require('../../src/gateway/gateway-keys.ts');
const { createVideoTestEnvironment } = require('../../src/testing/index.ts');
const { findPythonWith } = require('../support/python-packages.ts');

/**
 * All but two. `positive_data_acceptance`: a prompt may be too long for Temporal, and Python and JavaScript differ about which
 * characters are blank. `use_after_free`: DELETE of a video that runs cancels it, and its state stays readable; that an ended
 * one is gone is held by the tests of the gateway in test/real-server.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'ignored_auth',
];

async function main() {
  const python = await findPythonWith('schemathesis', 'schemathesis.txt');
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const emulator = { jobTimeMs: 0, videoBytes: 10_000 };
  const { temporal, storageFolder, ...env } = await createVideoTestEnvironment({ server: 'dev', emulator });
  const worker = await env.createWorker();
  const running = worker.run();
  const { key, line } = makeKey('schemathesis');
  const keysFile = join(storageFolder, 'keys.txt');
  writeFileSync(keysFile, line);
  const gateway = await createVideoGateway({
    env: {
      VIDEOGEN_STORAGE: storageFolder,
      VIDEOGEN_GATEWAY_KEYS_FILE: keysFile,
      VIDEOGEN_LOG_LEVEL: 'error',
    },
    client: temporal.client,
    port: 0,
  });
  try {
    const options = {
      header: `Authorization: Bearer ${key}`,
      checks: CHECKS.join(','),
      'max-examples': '20',
      seed: '1',
      'request-timeout': '20',
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    const command = ['-m', 'schemathesis.cli', 'run', `${gateway.url}/openapi.json`, '--no-color', ...args];
    // It writes what it found into the current folder.
    const program = spawn(python, [...command, ...process.argv.slice(2)], {
      cwd: storageFolder,
      stdio: 'inherit',
    });
    const [code] = await once(program, 'close');
    process.exitCode = code ?? 1;
  } finally {
    await gateway.close();
    worker.shutdown();
    await running;
    await env.teardown();
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
