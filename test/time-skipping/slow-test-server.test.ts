import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { failureOf } from '../support/world';

// The SDK waits five seconds for each start that comes to nothing.
jest.setTimeout(120_000);

let folder: string;
beforeAll(async () => {
  captureLogs();
  folder = await mkdtemp(join(tmpdir(), 'videogen-slow-server-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o755 });
  return path;
}

/** The test server behind so many starts that do not answer, and a file with a line for each start. */
async function slowServer(name: string, silentStarts: number) {
  const starts = join(folder, `${name}.starts`);
  const path = await program(
    name,
    `#!/bin/sh
echo start >> '${starts}'
if [ "$(wc -l < '${starts}')" -le ${silentStarts} ]; then exec sleep 600; fi
exec "$VIDEOGEN_TEST_SERVER" "$@"
`,
  );
  return { path, starts: async () => (await readFile(starts, 'utf8')).trim().split('\n').length };
}

const environmentOn = (path: string) =>
  createVideoTestEnvironment({ env: { ...process.env, VIDEOGEN_TEST_SERVER: path } });

test('a test server that is not up in time is started again', async () => {
  const { path, starts } = await slowServer('slow', 1);
  const env = await environmentOn(path);
  try {
    const before = await env.temporal.currentTimeMs();
    await env.temporal.sleep('1h');
    expect((await env.temporal.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
    expect(await starts()).toBeGreaterThan(1);
  } finally {
    await env.teardown();
  }
});

test('one that is not up in time thrice is told with its path and the SDK’s own words', async () => {
  const { path, starts } = await slowServer('silent', 3);
  const failure = await failureOf(environmentOn(path));
  const { message, cause } = failure instanceof Error ? failure : new Error();
  expect(message).toContain(`${path} did not answer within 5s in any of 3 tries: run it with a port`);
  expect(String(cause)).toContain('did not start within 5s');
  expect(await starts()).toBe(3);
});

test('one that cannot be run is not tried again', async () => {
  const path = await program('no-program', 'This is no program.');
  const failure = await failureOf(environmentOn(path));
  expect(String(failure)).toContain('Failed to start ephemeral server');
  expect(String(failure)).not.toContain('tries');
});
