import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@temporalio/client';
import { Runtime } from '@temporalio/worker';
import { version } from '../../package.json';
import { errorObject, exitCodeOf, reportError } from '../../src/cli/exit-codes';
import { readImageFile } from '../../src/cli/generate';
import { readFaults } from '../../src/cli/read-faults';
import { type BatchSettings, type GenerateOptions, readBatch, readJobInput } from '../../src/cli/read-input';
import { EXIT } from '../../src/cli/terminal';
import { TemporalUnreachable } from '../../src/client/refusals';
import { ConfigError } from '../../src/config/service-config';
import type { FailureDetails } from '../../src/contract/failure-details';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { DecisionRefused } from '../../src/contract/lost-submit';
import { VideoFailure } from '../../src/contract/video-failure';
import { ServerUnavailable } from '../../src/temporal-server';
import { freePort } from '../../src/temporal-server/loopback-port';
import { wordsOf } from '../support/docs-page';
import { PNG, sha256Of } from '../support/images';
import { failureOf } from '../support/world';
import { runHere } from './cli-here';
import { FakeTerminal } from './fake-terminal';
import { parser } from './parser';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-usage-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
// Commands install a runtime, because they usually have a process of their own.
afterAll(() => Runtime.instance().shutdown());

/** None of these commands starts Temporal: there is no CLI, and the data folder is not even created. */
async function videogen(args: string[], env: Record<string, string> = {}) {
  const VIDEOGEN_DATA = join(folder, 'data');
  const VIDEOGEN_TEMPORAL_CLI = join(folder, 'no-temporal');
  const end = await runHere(args, { HOME: folder, VIDEOGEN_DATA, VIDEOGEN_TEMPORAL_CLI, ...env });
  expect(existsSync(VIDEOGEN_DATA)).toBe(false);
  return end;
}

const ONE_SENTENCE = /^[^\n]+\.\n$/;
const SERVICE = { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-x' };

describe('help', () => {
  it('is on standard output, and without a command on standard error, with the code of bad usage', async () => {
    const { code, out, err } = await videogen(['--help']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('\n  generate ');
    expect(await videogen([])).toEqual({ code: 2, out: '', err: expect.stringContaining('Usage: videogen') });
    expect(await videogen(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('of each command ends with an example that the program takes', async () => {
    for (const command of parser().commands) {
      const { code, out } = await videogen([command.name(), '--help']);
      const [, typed = ''] = /\nExample:\n {2}videogen (.*)\n$/.exec(out) ?? [];
      const words = wordsOf(typed);
      expect([code, words[0]]).toEqual([0, command.name()]);
      await parser().parseAsync(words, { from: 'user' });
    }
  });
});

test('every command loads its function', async () => {
  for (const command of parser().commands) {
    const args = command.registeredArguments.map(() => 'fox');
    const loaded: unknown[] = [];
    await parser(({ load }) => loaded.push(load())).parseAsync([command.name(), ...args], { from: 'user' });
    expect(loaded).toEqual([expect.any(Function)]);
  }
});

describe('without any jobs on this machine', () => {
  it('list says so', async () => {
    const err =
      'There are no jobs on this machine yet. To list those of another Temporal server, set TEMPORAL_ADDRESS.\n';
    expect(await videogen(['list'])).toEqual({ code: 0, out: '', err });
  });

  it.each(['status', 'cancel', 'retry', 'forget'])('%s knows no job, and starts nothing', async (command) => {
    const { code, out, err } = await videogen([command, 'fox', '--json']);
    expect([code, JSON.parse(out).error.type]).toEqual([2, 'NoSuchJob']);
    expect(err).toMatch(/^There is no job fox\. .+\n$/);
  });
});

it('a command says within seconds that Temporal cannot be reached', async () => {
  const TEMPORAL_ADDRESS = `127.0.0.1:${await freePort()}`;
  const end = await videogen(['watch', 'fox'], { TEMPORAL_ADDRESS });
  expect(end).toMatchObject({ code: 19, out: '', err: expect.stringContaining(TEMPORAL_ADDRESS) });
  expect(end.err).toMatch(ONE_SENTENCE);
});

describe('bad usage', () => {
  it.each<[string[], string]>([
    [['A fox', '--id', ' '], '--id must be text of at most 1000 bytes, not blank and without control'],
    [['A fox', '--storage', 'Gateway/fox.mp4'], 'jobs, batches, images, gateway, tasks are reserved'],
  ])('generate %j is refused in one line', async (args, message) => {
    const { code, out, err } = await videogen(['generate', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(ONE_SENTENCE);
    expect(err).toContain(message);
  });

  it('is reported to programs in the last line of standard output, also if the parser finds it', async () => {
    const refused = await videogen(['generate', 'A fox', '--duration', '11', '--json']);
    expect(refused.out).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(refused.out)).toEqual({
      error: {
        type: 'InvalidRequest',
        message: expect.stringContaining('duration must be at most 10'),
        advice: expect.stringContaining('start a new job'),
        charged: 'no',
      },
    });
    const { code, out, err } = await videogen(['generate', 'A fox', '--json', '--sed', '7']);
    expect([code, JSON.parse(out)]).toEqual([
      2,
      { error: { type: 'UsageError', message: expect.stringContaining("unknown option '--sed'") } },
    ]);
    expect(err).toContain("error: unknown option '--sed'\n(Did you mean --seed?)");
  });

  it.each([[[]], [['--adopt', 'task_1', '--resubmit']]])(
    'decide %j is refused: one decision at a time',
    async (args) => {
      const err = 'Give one of --adopt TASK, --resubmit and --abandon.\n';
      expect(await videogen(['decide', 'fox', ...args])).toEqual({ code: 2, out: '', err });
    },
  );

  it('dev refuses a port that is none, and faults for a service that is not emulated', async () => {
    const port = await videogen(['dev', '--ui-port', '65536']);
    expect([port.code, port.err]).toEqual([2, '--ui-port is "65536": give a port from 1 to 65535.\n']);
    const fault = await videogen(['dev', '--fault', 'submit:reset'], SERVICE);
    expect([fault.code, fault.err]).toEqual([
      2,
      expect.stringMatching(/^--fault needs the emulated service: /),
    ]);
  });

  it('a batch with bad lines prints a line for each of them, up to a limit', async () => {
    const file = join(folder, 'foxes.jsonl');
    const unreadable = `${file} cannot be read (ENOENT): give a file with one request per line.\n`;
    expect(await videogen(['batch', file])).toEqual({ code: 2, out: '', err: unreadable });

    writeFileSync(file, '{"prompt":"A fox"}\nfox\n{"prompt":"A fox","duration":11}\n\n{}\n');
    const end = await videogen(['batch', file, '--json']);
    const problems = [
      `${file}:2: not a JSON object on one line`,
      `${file}:3: duration must be at most 10 (was 11)`,
      `${file}:5: prompt is missing`,
    ];
    const fix = 'Nothing was started. Correct the file and run the command again.';
    expect([end.code, end.err.split('\n')]).toEqual([2, [...problems, fix, '']]);
    expect(JSON.parse(end.out).error.message).toBe(`The request was refused: ${problems.join('; ')}.`);

    writeFileSync(file, '{}\n'.repeat(27));
    const many = (await videogen(['batch', file])).err.trimEnd().split('\n');
    expect([many.length, many[10]]).toEqual([12, 'and 17 more']);
  });
});

describe('a storage that cannot be used', () => {
  it.each([['generate', 'A red fox'], ['dev'], ['worker']])(
    'is reported by %s in one line, before anything is started',
    async (...args) => {
      writeFileSync(join(folder, 'file'), '');
      const VIDEOGEN_STORAGE = join(folder, 'file', 'videos');
      const { code, out, err } = await videogen(args, { ...SERVICE, VIDEOGEN_STORAGE });
      expect([code, out]).toEqual([15, '']);
      expect(err).toMatch(ONE_SENTENCE);
      expect(err).toContain(`The storage ${VIDEOGEN_STORAGE} cannot be used: ENOTDIR: not a directory`);
    },
  );
});

describe('generate --image', () => {
  const image = (name: string, VIDEOGEN_STORAGE = join(folder, 'videos')) =>
    videogen(['generate', 'A fox', '--image', join(folder, name)], { VIDEOGEN_STORAGE });

  it.each<[string, string, (file: string) => void, RegExp]>([
    ['a file that is not there', 'none.png', () => undefined, /none\.png cannot be read: ENOENT/],
    ['a pipe', 'pipe.png', (file) => execFileSync('mkfifo', [file]), /pipe\.png is not a file/],
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
    expect((await image('fox.png', file)).code).toBe(FAILURES.StorageFailed.exitCode);
  });
});

describe('an error', () => {
  it('of a job ends with the code of the failure table; usage, a missing Temporal and bugs have others', () => {
    expect(exitCodeOf(new VideoFailure('GenerationFailed'))).toBe(FAILURES.GenerationFailed.exitCode);
    expect(exitCodeOf(new ConfigError('x'))).toBe(EXIT.usage);
    expect(exitCodeOf(new DecisionRefused('x'))).toBe(EXIT.usage);
    expect(exitCodeOf(new TemporalUnreachable('x'))).toBe(EXIT.noTemporal);
    expect(exitCodeOf(new ServerUnavailable('x', [], 'y'))).toBe(EXIT.noTemporal);
    expect(exitCodeOf(new TypeError('x'))).toBe(EXIT.unexpected);

    const { usage, ...own } = EXIT;
    expect(usage).toBe(FAILURES.InvalidRequest.exitCode);
    const codes = [...Object.values(own), ...Object.values(FAILURES).map(({ exitCode }) => exitCode)];
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('of any other kind has its type and message, and that of Temporal its cause', () => {
    const cause = new Error('3 INVALID_ARGUMENT: TaskQueue length exceeds limit.');
    const { error } = errorObject(new ServiceError('Failed to start Workflow', { cause }));
    expect(error).toMatchObject({
      type: 'ServiceError',
      message: 'Failed to start Workflow: 3 INVALID_ARGUMENT: TaskQueue length exceeds limit.',
    });
    expect(errorObject(undefined).error).toMatchObject({ type: 'Error', message: 'undefined' });
  });

  it.each<[FailureType, FailureDetails, string]>([
    ['DeadlineExceeded', { taskId: 'task_1', service: 'b' }, '--adopt task_1 --service b'],
    ['SubmitUnconfirmed', { service: 'b' }, '--adopt TASK_ID --service b'],
    ['GenerationFailed', { taskId: 'task_1' }, ''],
  ])('%s with %j ends with the command that adopts its task, if it can: %s', (type, details, adopts) => {
    const failure = new VideoFailure(type, details);
    const terminal = new FakeTerminal();
    reportError(failure, {}, terminal);
    const lastLine = terminal.stderr.trimEnd().split('\n').at(-1);
    if (adopts === '') expect(lastLine).toBe(failure.message);
    else expect(lastLine?.endsWith(`with: videogen generate ${adopts}`)).toBe(true);
  });
});

describe('options', () => {
  const INLINE_BYTES = 200_000;

  let file: string;
  beforeEach(() => {
    file = join(folder, 'foxes.jsonl');
  });

  const readJob = (
    prompt: string | undefined,
    options: Partial<GenerateOptions>,
    env: Record<string, string> = SERVICE,
  ) => readJobInput(prompt, { wait: true, ...options }, env);

  const foxes = [{ prompt: 'A red fox' }, { prompt: 'A grey fox', duration: 5 }];
  const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');
  const batchOf = (
    content: string,
    options: Partial<BatchSettings> = {},
    env: Record<string, string> = {},
  ) => {
    writeFileSync(file, content);
    return readBatch(file, { wait: true, ...options }, { VIDEOGEN_STORAGE: join(folder, 'videos'), ...env });
  };
  /** Requests whose file has exactly this many bytes. */
  function foxesOf(bytes: number): { prompt: string }[] {
    const one = { prompt: '' };
    return [{ prompt: 'x'.repeat(bytes - toLines([one]).length) }];
  }

  it('every option of generate becomes part of the job, and nothing else does', () => {
    const options = {
      imageUrl: 'https://example.com/fox.png',
      resolution: '720p',
      aspectRatio: '9:16',
      duration: '5',
      seed: '-7',
      deadline: '30m',
      storage: 'foxes/{date}/{workflowId}.{ext}',
      cap: ['3 videos', '20 seconds', '2.50 USD'],
    };
    expect(readJob('A red fox', { ...options, id: 'fox', out: 'fox.mp4', json: true })).toEqual({
      request: {
        prompt: 'A red fox',
        image_url: options.imageUrl,
        resolution: '720p',
        aspect_ratio: '9:16',
        duration: 5,
        seed: -7,
      },
      deadline: '30m',
      storage: options.storage,
      cap: { videos: 3, seconds: 20, money: { amount: 2.5, currency: 'USD' } },
    });
    expect(readJob(undefined, { adopt: 'task_1' })).toEqual({ taskId: 'task_1' });
    // An id alone follows the job of that name.
    expect(readJob(undefined, { id: 'fox', deadline: '1h', out: 'fox.mp4' })).toBeUndefined();
  });

  it('every option of batch becomes part of the batch, and nothing else does', async () => {
    const options = { deadline: '30m', onLostSubmit: 'fail', holdFor: '2h', storage: 'foxes/' };
    const given = { ...options, window: '7', onFailure: 'stop', id: 'foxes', json: true };
    expect(await batchOf(toLines(foxes), given, SERVICE)).toEqual({
      workflowId: 'foxes',
      requests: foxes,
      input: { requests: foxes, window: 7, ...options, onFailure: 'stop' },
    });
    expect((await batchOf(toLines(foxes), {}, SERVICE)).input).toEqual({ requests: foxes });
  });

  it('further fields that the profile allows become part of the request, as JSON or as text', async () => {
    const profile = join(folder, 'profile.yaml');
    writeFileSync(profile, 'requestFields: [size, note]');
    const env = { ...SERVICE, VIDEOGEN_PROFILE: profile };
    const options = { field: ['size={"w":640}', 'note=a=b'] };
    const request = { prompt: 'A red fox', size: { w: 640 }, note: 'a=b' };
    expect(readJob('A red fox', options, env)).toEqual({ request });
    expect((await batchOf(toLines([request]), {}, env)).input).toEqual({ requests: [request] });
    const refusal = '"size", "note": not a field of the request';
    expect(() => readJob('A red fox', options)).toThrow(refusal);
    await expect(batchOf(toLines([request]))).rejects.toThrow(`${file}:1: ${refusal}`);
  });

  it('a command names its service, or gets the default of the file', () => {
    const VIDEOGEN_SERVICES_FILE = join(folder, 'services.json');
    const fal = { baseUrl: 'https://fal.example.com', key: { env: 'MAIN_KEY' } };
    const services = { services: { fal, kling: fal }, default: 'kling' };
    writeFileSync(VIDEOGEN_SERVICES_FILE, JSON.stringify(services));
    const env = { VIDEOGEN_SERVICES_FILE };
    expect(readJob('A fox', { service: 'fal' }, env)).toMatchObject({ service: 'fal' });
    expect(readJob('A fox', {}, env)).toMatchObject({ service: 'kling' });
    expect(() => readJob('A fox', { service: 'fall' }, env)).toThrow('name one of fal, kling');
    // With a Temporal elsewhere, the workers know a service that this machine does not list.
    const elsewhere = { TEMPORAL_ADDRESS: '127.0.0.1:7233' };
    expect(readJob('A fox', { service: 'any' }, elsewhere)).toMatchObject({ service: 'any' });
  });

  it.each<[string | undefined, Partial<GenerateOptions>, string]>([
    [undefined, {}, 'there is no prompt: describe the video'],
    ['x', { seed: '' }, 'seed must be a whole number of at most 9007199254740991 (was "")'],
    [undefined, { adopt: 'task_1', seed: '7' }, 'either a request or the taskId'],
    [undefined, { adopt: '' }, 'taskId must be text'],
    ['x', { field: ['=x'] }, 'give NAME=VALUE'],
    ['x', { cap: ['2 USD', '1 EUR'] }, '--cap has two limits in money: give one.'],
  ])('generate with the prompt %j and %j is refused', (prompt, options, message) => {
    expect(() => readJob(prompt, options)).toThrow(message);
  });

  it('the name of a batch depends on the content of its file and on the service, and on nothing else', async () => {
    const nameOf = async (...given: Parameters<typeof batchOf>) => (await batchOf(...given)).workflowId;
    const name = await nameOf(toLines(foxes));
    expect(name).toMatch(/^batch-[0-9a-f]{12}$/);
    expect(await nameOf(toLines(foxes), { window: '3', deadline: '2h', onFailure: 'stop' })).toBe(name);
    file = join(folder, 'a copy.jsonl');
    expect(await nameOf(toLines(foxes))).toBe(name);
    const other = { ...SERVICE, VIDEO_API_BASE_URL: 'https://video.example.com' };
    const names = [
      name,
      await nameOf(toLines([...foxes].reverse())),
      await nameOf(toLines(foxes), {}, SERVICE),
      await nameOf(toLines(foxes), {}, other),
    ];
    expect(new Set(names).size).toBe(names.length);
    // A new key is still the same account.
    expect(await nameOf(toLines(foxes), {}, { ...SERVICE, VIDEO_API_KEY: 'sk-other' })).toBe(names[2]);
  });

  it('a file of up to 200 KB goes through Temporal, a larger one through the storage, under a key of its content', async () => {
    const small = foxesOf(INLINE_BYTES);
    expect((await batchOf(toLines(small), {}, SERVICE)).input).toEqual({ requests: small });
    expect(existsSync(join(folder, 'videos'))).toBe(false);
    const large = [...small, { prompt: '狐' }];
    const content = `\n${toLines(large)}\n`;
    const { input, requests } = await batchOf(content, { window: '5' }, SERVICE);
    expect(requests).toEqual(large);
    expect(input).toEqual({
      requestsFrom: expect.stringMatching(/^batches\/requests-[0-9a-f]{32}\.jsonl$/),
      window: 5,
    });
    const key = input.requestsFrom ?? '';
    expect((await batchOf(content, { window: '9' })).input.requestsFrom).toBe(key);
    expect(readFileSync(join(folder, 'videos', key), 'utf8')).toBe(toLines(large));
    // Bytes count, not characters.
    expect((await batchOf(toLines([{ prompt: '狐'.repeat(70_000) }]))).input).toHaveProperty('requestsFrom');
  });

  it.each<[Partial<BatchSettings>, string]>([
    [{ window: '' }, 'window must be a whole number from 1 to 500'],
    [{ storage: 'fox.mp4' }, 'storage must end with / or contain {workflowId} or {taskId}'],
    [{ id: '' }, '--id must be text of at most 1000 bytes, not blank and without control characters'],
  ])('a batch with %j is refused before anything is stored', async (options, message) => {
    const failure = await failureOf(batchOf(toLines(foxesOf(2 * INLINE_BYTES)), options));
    expect(failure).toMatchObject({ type: 'InvalidRequest', exitCode: 2 });
    expect((failure as VideoFailure).details.message).toContain(message);
    expect(existsSync(join(folder, 'videos'))).toBe(false);
  });

  it('faults are read in order, for their call, with their parameters and repetitions', () => {
    expect(readFaults(['submit:rate-limited', 'status:server-errorx2', 'download:cut'])).toEqual([
      { call: 'submit', fault: { kind: 'rate-limited', retryAfter: 2 } },
      { call: 'status', fault: { kind: 'server-error' } },
      { call: 'status', fault: { kind: 'server-error' } },
      { call: 'download', fault: { kind: 'cut', afterBytes: 1_000 } },
    ]);
  });

  it.each(['cancel:reset', 'submit:cut', 'submit:toString'])(
    'the fault %j is refused with the choices',
    (text) => {
      const read = () => readFaults(['submit:reset', text]);
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(
        /^--fault is ".*": give CALL:KIND .* CALL one of submit, .* KIND one of rate-limited, /,
      );
    },
  );
});
