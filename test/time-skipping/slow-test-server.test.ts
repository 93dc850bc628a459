import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';

let folder: string;
beforeAll(async () => {
  captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-slow-server-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** An environment with this script as its test server. */
async function environmentOn(script: string, settings = {}) {
  const path = join(folder, 'test-server');
  await writeFile(path, script, { mode: 0o755 });
  return createVideoTestEnvironment({ env: { ...process.env, VIDEOGEN_TEST_SERVER: path, ...settings } });
}

test('a test server may take longer to start than the SDK’s five seconds', async () => {
  const env = await environmentOn(`#!/bin/sh\nsleep 6\nexec "${process.env.VIDEOGEN_TEST_SERVER}" "$@"\n`);
  try {
    const before = await env.temporal.currentTimeMs();
    await env.temporal.sleep('1h');
    expect((await env.temporal.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
  } finally {
    await env.teardown();
  }
}, 120_000);

test('a test server that ends instead of starting is reported with its last output', async () => {
  await expect(environmentOn('#!/bin/sh\necho no memory left\nexit 3\n')).rejects.toThrow(
    /^The time-skipping test server \S+test-server on 127\.0\.0\.1:\d+ ended with code 3: no memory left/,
  );
});
