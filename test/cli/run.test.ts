import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { version } from '../../package.json';
import { readImageFile } from '../../src/cli/generate';
import { run } from '../../src/cli/run';
import { FAILURES } from '../../src/contract/failure-table';
import { freePort } from '../../src/temporal-server/loopback-port';
import { HTML, PNG, sha256Of, TOO_LARGE_PNG } from '../support/images';
import { eventually } from '../temporal-server/eventually';
import { FakeTerminal } from './fake-terminal';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-run-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  // Commands install a runtime, because they usually have a process of their own.
  await Runtime.instance().shutdown();
});

/** None of these commands starts Temporal: there is no CLI, and the data folder is not even created. */
async function videogen(args: string[], env: Record<string, string> = {}) {
  const VIDEOGEN_DATA = join(folder, 'data');
  const VIDEOGEN_TEMPORAL_CLI = join(folder, 'no-temporal');
  const terminal = new FakeTerminal({ HOME: folder, VIDEOGEN_DATA, VIDEOGEN_TEMPORAL_CLI, ...env });
  const code = await run(args, terminal);
  expect(existsSync(VIDEOGEN_DATA)).toBe(false);
  return { code, out: terminal.stdout, err: terminal.stderr };
}

const ONE_SENTENCE = /^[^\n]+\.\n$/;

async function portOfListener(): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

test('help is on standard output, and without a command on standard error, with the code of bad usage', async () => {
  const { code, out, err } = await videogen(['--help']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('\n  generate ');
  expect(await videogen([])).toEqual({ code: 2, out: '', err: expect.stringContaining('Usage: videogen') });
});

describe('without any jobs on this machine', () => {
  it('list says so', async () => {
    const err =
      'There are no jobs on this machine yet. To list those of another Temporal server, set TEMPORAL_ADDRESS.\n';
    expect(await videogen(['list'])).toEqual({ code: 0, out: '', err });
    expect(await videogen(['list', '--state', 'failed'])).toEqual({ code: 0, out: '', err });
  });

  it.each(['status', 'cancel', 'retry', 'forget'])('%s knows no job, and starts nothing', async (command) => {
    const { code, out, err } = await videogen([command, 'fox', '--json']);
    expect([code, JSON.parse(out).error.type]).toEqual([2, 'NoSuchJob']);
    expect(err).toMatch(/^There is no job fox\. .+\n$/);
  });
});

it.each(['status', 'list', 'watch', 'retry'])(
  '%s says within seconds that Temporal cannot be reached',
  async (command) => {
    const TEMPORAL_ADDRESS = `127.0.0.1:${await freePort()}`;
    const end = await videogen(command === 'list' ? [command] : [command, 'fox'], { TEMPORAL_ADDRESS });
    expect(end).toMatchObject({ code: 19, out: '', err: expect.stringContaining(TEMPORAL_ADDRESS) });
    expect(end.err).toMatch(ONE_SENTENCE);
  },
);

it.each(['--version', '-V'])('%s prints the version of the package and nothing else', async (option) => {
  expect(await videogen([option])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

describe('bad usage', () => {
  it.each<[string[], string]>([
    [
      ['generate', 'A fox', '--resolutoin', '720p'],
      "unknown option '--resolutoin'\n(Did you mean --resolution?)",
    ],
    [['generat', 'A fox'], "unknown command 'generat'\n(Did you mean generate?)"],
    [['generate', 'A', 'red', 'fox'], "too many arguments for 'generate'"],
    [['batch'], "missing required argument 'file'"],
    [['generate', 'A fox', '--seed'], "option '--seed <number>' argument missing"],
  ])('%j is refused by the parser', async (args, message) => {
    expect(await videogen(args)).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^error: .*\nSee videogen --help, or videogen COMMAND --help\.\n$/s),
    });
    expect((await videogen(args)).err).toContain(`error: ${message}`);
  });

  it.each<[string[], string]>([
    [['A fox', '--resolution', '4k'], 'resolution must be one of 480p, 720p, 1080p (was "4k")'],
    [[], 'there is no prompt'],
    [['A fox', '--id', ' '], '--id must be text of at most 1000 bytes, not blank and without control'],
    [['A fox', '--id', 'x'.repeat(1_500)], '--id must be text of at most 1000 bytes'],
    [['A fox', '--id', 'batches/1'], 'jobs, batches, images, gateway, tasks are reserved'],
    [['A fox', '--storage', 'Gateway/fox.mp4'], 'jobs, batches, images, gateway, tasks are reserved'],
    [['A fox', '--storage', '/etc/fox.mp4'], 'storage must be a key inside the storage'],
    [['A fox', '--on-lost-submit', 'retry'], 'onLostSubmit must be one of hold, resubmit, fail'],
    [['A fox', '--hold-for', 'ever'], 'holdFor must be milliseconds or a duration'],
  ])('generate %j is refused in one line', async (args, message) => {
    const { code, out, err } = await videogen(['generate', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(ONE_SENTENCE);
    expect(err).toContain(message);
  });

  it('is reported to programs in the last line of standard output', async () => {
    const { out } = await videogen(['generate', 'A fox', '--duration', '11', '--json']);
    expect(out).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(out)).toEqual({
      error: {
        type: 'InvalidRequest',
        message: expect.stringContaining('duration must be at most 10'),
        advice: expect.stringContaining('start a new job'),
      },
    });
  });

  it.each([[[]], [['--resubmit', '--abandon']], [['--adopt', 'task_1', '--resubmit']]])(
    'decide %j is refused: one decision at a time',
    async (args) => {
      const { code, out, err } = await videogen(['decide', 'fox', ...args]);
      expect([code, out, err]).toEqual([2, '', 'Give one of --adopt TASK, --resubmit and --abandon.\n']);
    },
  );

  it.each<[string, () => void, string]>([
    ['does not exist', () => undefined, 'ENOENT'],
    ['is a folder', () => mkdirSync(join(folder, 'foxes.jsonl')), 'EISDIR'],
  ])('a file of a batch that %s is refused in one sentence', async (_what, prepare, code) => {
    prepare();
    const file = join(folder, 'foxes.jsonl');
    const err = `${file} cannot be read (${code}): give a file with one request per line.\n`;
    expect(await videogen(['batch', file])).toEqual({ code: 2, out: '', err });
  });

  it('a batch with bad lines prints a line for each of them, up to a limit', async () => {
    const file = join(folder, 'foxes.jsonl');
    writeFileSync(file, '{"prompt":"A fox"}\nfox\n{"prompt":"A fox","duration":11}\n\n{}\n');
    const end = await videogen(['batch', file, '--json']);
    expect([end.code, end.err.split('\n')]).toEqual([
      2,
      [
        `${file}:2: not a JSON object on one line`,
        `${file}:3: duration must be at most 10 (was 11)`,
        `${file}:5: prompt is missing`,
        'Nothing was started. Correct the file and run the command again.',
        '',
      ],
    ]);
    expect(JSON.parse(end.out)).toEqual({
      error: {
        type: 'InvalidRequest',
        message: `The request was refused: ${file}:2: not a JSON object on one line; ${file}:3: duration must be at most 10 (was 11); ${file}:5: prompt is missing.`,
        advice: expect.any(String),
      },
    });

    writeFileSync(file, '{}\n'.repeat(27));
    const many = (await videogen(['batch', file])).err.trimEnd().split('\n');
    expect(many).toHaveLength(12);
    expect(many.slice(9, 11)).toEqual([`${file}:10: prompt is missing`, 'and 17 more']);

    writeFileSync(file, '\n');
    expect((await videogen(['batch', file])).err).toMatch(`${file}: there is no request in it\n`);
  });

  it('that the parser finds is reported to programs too', async () => {
    const { code, out } = await videogen(['generate', 'A fox', '--json', '--sed', '7']);
    expect(code).toBe(2);
    expect(JSON.parse(out)).toEqual({
      error: { type: 'UsageError', message: expect.stringContaining("unknown option '--sed'") },
    });
  });
});

it('a missing key file is reported before Temporal is started', async () => {
  const { code, out, err } = await videogen(['generate', 'A fox', '--json'], {
    VIDEO_API_BASE_URL: 'https://api.example.com',
    VIDEO_API_KEY_FILE: join(folder, 'none'),
  });
  expect(code).toBe(2);
  expect(err).toMatch(ONE_SENTENCE);
  expect(err).toMatch(/^VIDEO_API_KEY_FILE names a file that cannot be read \(ENOENT\): /);
  expect(JSON.parse(out)).toEqual({ error: { type: 'ConfigError', message: err.trimEnd() } });
});

describe('a storage that cannot be written', () => {
  const service = { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-x' };
  it.each<[string, string[]]>([
    ['generate', ['A red fox']],
    ['batch', ['requests.jsonl']],
    ['dev', []],
    ['worker', []],
  ])('is reported by %s in one sentence, before anything is started', async (command, args) => {
    writeFileSync(join(folder, 'file'), '');
    writeFileSync(join(folder, 'requests.jsonl'), '{"prompt":"A red fox"}\n');
    const VIDEOGEN_STORAGE = join(folder, 'file', 'videos');
    const given = args.map((arg) => (arg.endsWith('.jsonl') ? join(folder, arg) : arg));
    const { code, out, err } = await videogen([command, ...given], { ...service, VIDEOGEN_STORAGE });
    expect([code, out]).toEqual([15, '']);
    expect(err).toBe(
      `The storage ${VIDEOGEN_STORAGE} cannot be used: ENOTDIR: not a directory, mkdir '${VIDEOGEN_STORAGE}'. Make it a folder that this user can write to, on a disk with free space and hard links, or set VIDEOGEN_STORAGE to another folder.\n`,
    );
  });
});

test('generate with a bucket that cannot be reached starts nothing, and says what to correct', async () => {
  const { code, out, err } = await videogen(['generate', 'A wolf', '--json'], {
    VIDEOGEN_STORAGE: 's3://videos/wolves',
    VIDEOGEN_S3_PATH_STYLE: 'true',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'fox',
    AWS_SECRET_ACCESS_KEY: 'secret',
  });
  expect([code, JSON.parse(out)]).toMatchObject([15, { error: { type: 'StorageUnusable' } }]);
  expect(err).toMatch(
    /^The storage s3:\/\/videos\/wolves at http:\/\/127\.0\.0\.1:1 cannot be used: .*connect ECONNREFUSED 127\.0\.0\.1:1\. Correct AWS_ENDPOINT_URL_S3 /m,
  );
});

describe('worker', () => {
  it('takes no other role than jobs, submits and downloads', async () => {
    expect(await videogen(['worker', '--only', 'jobs', 'polls'])).toEqual({
      code: 2,
      out: '',
      err: expect.stringContaining("'polls' is invalid. Allowed choices are jobs, submits, downloads."),
    });
  });

  it('without a service is refused in one sentence', async () => {
    const end = await videogen(['worker'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(end).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^VIDEO_API_BASE_URL is not set: [^\n]+\.\n$/),
    });
  });
});

describe('dev', () => {
  it.each(['x', '0', '65536', ''])('refuses the port %j', async (port) => {
    const { code, err } = await videogen(['dev', '--ui-port', port]);
    expect([code, err]).toEqual([2, `--ui-port is ${JSON.stringify(port)}: give a port from 1 to 65535.\n`]);
  });

  it('takes faults for the emulated service only', async () => {
    const service = { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-x' };
    const terminal = new FakeTerminal(service);
    expect(await run(['dev', '--fault', 'submit:reset'], terminal)).toBe(2);
    expect(terminal.stderr).toMatch(/^--fault needs the emulated service: unset VIDEO_API_BASE_URL[^\n]*\n$/);
  });
});

describe('emulator', () => {
  it('answers until Ctrl-C', async () => {
    const port = await freePort();
    const terminal = new FakeTerminal({ VIDEO_API_KEY: 'sk-emulated' });
    const args = ['emulator', '--port', `${port}`, '--job-time', '1ms', '--fault', 'submit:server-error'];
    const ending = run(args, terminal);
    await eventually('the emulator is up', () => terminal.listeners > 0);
    const url = `http://127.0.0.1:${port}`;
    expect(terminal.stderr).toContain(`The emulated video service is at ${url}. Ctrl-C ends it.`);
    expect(terminal.stderr).not.toContain('sk-emulated');

    const submit = (key: string) =>
      fetch(`${url}/v1/videos/text-to-video`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ prompt: 'A fox' }),
      });
    expect((await submit('sk-wrong')).status).toBe(401);
    expect((await submit('sk-emulated')).status).toBe(500);
    const answer = await submit('sk-emulated');
    expect(await answer.json()).toMatchObject({ task_id: expect.stringMatching(/^task_/) });

    terminal.interrupt();
    expect(await ending).toBe(0);
    await expect(submit('sk-emulated')).rejects.toThrow('fetch failed');
  });

  it('says in one sentence that its port is in use', async () => {
    const taken = await portOfListener();
    const { code, out, err } = await videogen(['emulator', '--port', `${taken.port}`]);
    await taken.close();
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(ONE_SENTENCE);
    expect(err).toMatch(
      `The emulator cannot listen on 127.0.0.1:${taken.port} (listen EADDRINUSE: address already in use`,
    );
  });

  it.each<[string[], RegExp]>([
    [['--job-time', '5'], /^--job-time is "5": give a length of time such as 5s\.\n$/],
    [['--fault', 'submit:explode'], /^--fault is "submit:explode": give CALL:KIND .*\.\n$/],
  ])('refuses %j before it listens', async (args, sentence) => {
    const port = `${await freePort()}`;
    expect(await videogen(['emulator', '--port', port, ...args])).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(sentence),
    });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed');
  });

  it('refuses a malformed key without printing it', async () => {
    writeFileSync(join(folder, 'key'), 'sk secret');
    const { code, err } = await videogen(['emulator'], { VIDEO_API_KEY_FILE: join(folder, 'key') });
    expect(code).toBe(2);
    expect(err).toMatch(/^VIDEO_API_KEY_FILE holds a space, [^\n]+\.\n$/);
    expect(err).not.toContain('secret');
  });
});

describe('generate --image', () => {
  const image = (name: string, env: Record<string, string> = {}) =>
    videogen(['generate', 'A fox', '--image', join(folder, name)], {
      VIDEOGEN_STORAGE: join(folder, 'videos'),
      ...env,
    });

  it.each<[string, string, (file: string) => void, RegExp]>([
    ['a file that is not there', 'none.png', () => undefined, /none\.png cannot be read: ENOENT/],
    ['a pipe', 'pipe.png', (file) => execFileSync('mkfifo', [file]), /pipe\.png is not a file/],
    ['a web page', 'page.png', (file) => writeFileSync(file, HTML), /page\.png is not a PNG, JPEG, WebP or/],
    ['a large file', 'large.png', (file) => writeFileSync(file, TOO_LARGE_PNG()), /is larger than 20 MB/],
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    ['a hostile name', '\x1b[2J.png', (file) => writeFileSync(file, ''), /^[^\x1b]*is not a PNG/],
  ])('with %s is refused in one sentence, and stores nothing', async (_what, name, make, sentence) => {
    make(join(folder, name));
    const { code, err } = await image(name);
    expect([code, err.trim().split('\n')]).toEqual([2, [expect.stringMatching(sentence)]]);
    expect(existsSync(join(folder, 'videos'))).toBe(false);
  });

  it('excludes --image-url, and is stored under a name that no gateway key can have', async () => {
    const file = join(folder, 'fox.png');
    writeFileSync(file, PNG);
    const both = readImageFile({ image: file, imageUrl: 'https://example.com/fox.png' });
    await expect(both).rejects.toThrow('give either --image or --image-url, not both');
    expect((await readImageFile({ image: file }))?.url).toBe(`videogen-image:_cli/${sha256Of(PNG)}.png`);
    expect((await image('fox.png', { VIDEOGEN_STORAGE: file })).code).toBe(FAILURES.StorageFailed.exitCode);
  });
});
