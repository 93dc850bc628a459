import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { createVideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { createVideoTestEnvironment } from '../../src/testing';
import { findPythonWith } from '../support/python-packages';

/**
 * All but two. `positive_data_acceptance`: a prompt may be too long for Temporal, and Python and JavaScript differ about which
 * characters are blank. `use_after_free`: DELETE of a video that runs cancels it, and its state stays readable; that an ended
 * one is gone is held by test/real-server/gateway-jobs.test.ts.
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

/** Resolves with the exit code of schemathesis: 0 when every answer was documented and none was a 5xx. */
export async function main(args: readonly string[]): Promise<number> {
  const python = await findPythonWith('schemathesis', 'schemathesis.txt');
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const env = await createVideoTestEnvironment({
    server: 'dev',
    emulator: { jobTimeMs: 0, videoBytes: 10_000 },
  });
  const worker = await env.createWorker();
  const running = worker.run();
  const { key, line } = makeKey('schemathesis');
  const keysFile = join(env.storageFolder, 'keys.txt');
  writeFileSync(keysFile, line);
  const gateway = await createVideoGateway({
    env: {
      VIDEOGEN_STORAGE: env.storageFolder,
      VIDEOGEN_GATEWAY_KEYS_FILE: keysFile,
      VIDEOGEN_LOG_LEVEL: 'error',
    },
    client: env.temporal.client,
    port: 0,
  });
  try {
    // It writes what it found into the current folder.
    return await run(env.storageFolder, python, [
      '-m',
      'schemathesis.cli',
      'run',
      `${gateway.url}/openapi.json`,
      '--header',
      `Authorization: Bearer ${key}`,
      '--checks',
      CHECKS.join(','),
      '--max-examples',
      '20',
      '--seed',
      '1',
      '--request-timeout',
      '20',
      '--no-color',
      ...args,
    ]);
  } finally {
    await gateway.close();
    worker.shutdown();
    await running;
    await env.teardown();
  }
}

function run(cwd: string, command: string, args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}
