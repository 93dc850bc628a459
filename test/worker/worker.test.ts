import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { ConfigError } from '../../src/config/service-config';
import { type CallOutcome, RateLimiter } from '../../src/service';
import { createFileStorage, StorageFault, StorageUnusable } from '../../src/storage';
import { newPartName } from '../../src/storage/disk-files';
import { activityWorkers, startJanitor, type WorkerRole } from '../../src/worker/activity-workers';
import { SubmitSlots } from '../../src/worker/submit-slots';
import { prepareWork } from '../../src/worker/video-work';
import { createVideoWorker, type VideoWorkerOptions } from '../../src/worker/video-worker';
import { cachedWorkflows, deploymentOptions } from '../../src/worker/worker-options';
import { captureLogs } from '../support/logs';
import { failureOf } from '../support/world';
import { eventually } from '../temporal-server/eventually';

const logs = captureLogs();
// This file runs no worker, and only the last worker would shut the runtime down.
afterAll(() => Runtime.instance().shutdown());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-worker-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a worker', () => {
  /** The error of a worker with these roles and queues; without a service it never starts. */
  async function refusal(options: VideoWorkerOptions): Promise<string> {
    const failure = await failureOf(createVideoWorker({ env: {}, taskQueue: 'q', ...options }));
    expect(failure).toBeInstanceOf(ConfigError);
    return failure instanceof Error ? failure.message : '';
  }

  const ROLES_FIT = /^VIDEO_API_BASE_URL is not set/;
  const NO_DOWNLOAD_QUEUE = /^VIDEOGEN_DOWNLOAD_QUEUE names no queue of its own, /;
  const SUBMIT_QUEUE = /^VIDEOGEN_DOWNLOAD_QUEUE is "q-submit", the queue of the submits: /;
  it.each<[readonly WorkerRole[] | undefined, VideoWorkerOptions, RegExp]>([
    [undefined, { downloadQueue: 'q' }, ROLES_FIT],
    [['downloads'], { downloadQueue: 'd' }, ROLES_FIT],
    // Without a separate queue, downloads belong to the jobs.
    [['jobs', 'downloads'], {}, ROLES_FIT],
    [['downloads'], {}, NO_DOWNLOAD_QUEUE],
    [['downloads', 'submits'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q' } }, NO_DOWNLOAD_QUEUE],
    [['jobs'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q-submit' } }, SUBMIT_QUEUE],
    [JSON.parse('["jobs","polls"]'), {}, /^The roles of the worker are \["jobs","polls"\]: give any of /],
  ])('with the roles %j and the queues %j is accepted, or refused for them: %s', async (...given) => {
    const [roles, queues, message] = given;
    expect(await refusal({ roles, ...queues })).toMatch(message);
  });

  // A submit writes the job's record.
  it('for submits alone does not start with a storage that it cannot use', async () => {
    const env = {
      VIDEO_API_BASE_URL: 'http://127.0.0.1:1',
      VIDEO_API_KEY: 'sk-x',
      VIDEOGEN_STORAGE: '/dev/null/videos',
      VIDEOGEN_DOWNLOAD_QUEUE: 'd',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    const failure = await failureOf(createVideoWorker({ env, roles: ['submits'] }));
    expect(failure).toBeInstanceOf(StorageUnusable);
  });

  it('has a version if settings or program give one: jobs are pinned to it', () => {
    const set = { TEMPORAL_DEPLOYMENT_NAME: 'videos', TEMPORAL_WORKER_BUILD_ID: '1.4.2' };
    const pinned = {
      useWorkerVersioning: true,
      version: { deploymentName: 'videos', buildId: '1.4.2' },
      defaultVersioningBehavior: 'PINNED',
    } as const;
    expect(deploymentOptions({}, {})).toBeUndefined();
    expect(deploymentOptions({ maxCachedWorkflows: 5 }, set)).toEqual(pinned);
    // The program's own comes first, even if it is none.
    expect(deploymentOptions({ workerDeploymentOptions: undefined }, set)).toBeUndefined();
    expect(() => deploymentOptions({}, { TEMPORAL_WORKER_BUILD_ID: '1.4.2' })).toThrow(ConfigError);
  });

  it('keeps as many workflows in memory as fit, or as the program says', () => {
    const MB = 1_000_000;
    const sizes = [64_000, 600, 500, 400, 256].map((memoryMb) => cachedWorkflows({}, memoryMb * MB));
    expect(sizes).toEqual([1_000, 1_000, 600, 200, 40]);
    expect(cachedWorkflows({ maxCachedWorkflows: 0 }, 256 * MB)).toBe(0);
  });
});

describe('the services of a file', () => {
  let server: Server;
  let seen: (string | undefined)[];
  let env: Record<string, string>;
  beforeEach(async () => {
    seen = [];
    server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no task"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const services = {
      one: { baseUrl, key: { file: 'one.key' }, submitsPerSecond: 2, onLostSubmit: 'fail' },
      two: { baseUrl, key: { env: 'TWO_KEY' } },
    };
    writeFileSync(join(folder, 'one.key'), 'sk-one');
    writeFileSync(join(folder, 'services.json'), JSON.stringify({ services, default: 'two' }));
    env = {
      VIDEOGEN_SERVICES_FILE: join(folder, 'services.json'),
      VIDEOGEN_STORAGE: join(folder, 'videos'),
      TWO_KEY: 'sk-two',
    };
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('are called with their own keys, and a rotated file counts at the next call', async () => {
    const { directory, close } = prepareWork({ env });
    const poll = async (name: string) => {
      const found = directory.find(name);
      if ('problem' in found) throw new Error(found.problem);
      await found.service.status('task_1').catch(() => undefined);
    };
    await poll('two');
    await poll('one');
    writeFileSync(join(folder, 'one.key'), 'sk-rotated');
    await poll('one');
    await close();
    expect(seen).toEqual(['Bearer sk-two', 'Bearer sk-one', 'Bearer sk-rotated']);
  });

  it('have their own queues of submits, with their own pace, and jobs that name none have another', async () => {
    const work = prepareWork({ env });
    const queues = {
      taskQueue: 'films',
      submitQueue: 'films-submit',
      downloadQueue: 'films',
      submitsPerSecond: 9,
    };
    const paces = activityWorkers(work, queues).map((options) => [
      options.taskQueue,
      options.maxTaskQueueActivitiesPerSecond,
    ]);
    expect(paces).toEqual([
      ['films-submit', 9],
      ['films-submit-one', 2],
      ['films-submit-two', 9],
    ]);
    expect(work.directory.all().map(({ name }) => name)).toEqual(['one', 'two']);
    await work.close();
  });

  it('take new jobs by their default, while a base URL beside the file keeps its tasks', async () => {
    const both = { ...env, VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-unnamed' };
    const work = prepareWork({ env: both });
    expect(work.directory.find()).not.toHaveProperty('name');
    expect(work.directory.find(work.directory.defaultService)).toMatchObject({ name: 'two' });
    await work.close();
  });

  it('stop a worker before it starts if a key cannot be read or the default is not there', () => {
    expect(() => prepareWork({ env: { ...env, TWO_KEY: '' } })).toThrow('names TWO_KEY, which is not set');
    expect(() => prepareWork({ env, services: {}, defaultService: 'one' })).toThrow(
      'The option services has a mistake: the default one is not among them.',
    );
  });
});

describe('submit slots', () => {
  function setUp(most = 3, clock = () => Date.now()) {
    const rateLimiter = new RateLimiter({ clock });
    const slots = new SubmitSlots(rateLimiter, most);
    const listeners = countListeners(rateLimiter);
    const given: string[] = [];
    const reserve = (name: string, signal = new AbortController().signal) => {
      const reserved = slots.reserveSlot({} as never, signal).then(() => void given.push(name));
      reserved.catch(() => undefined);
      return reserved;
    };
    const submit = (outcome: CallOutcome) => {
      const permit = rateLimiter.acquire('submit');
      if (!permit.granted) throw new Error('the rate limiter grants no permit');
      permit.release(outcome);
    };
    const close = () => submit({ kind: 'limited', retryAfterMs: 5_000 });
    return { rateLimiter, slots, given, reserve, submit, close, listeners };
  }

  function countListeners(rateLimiter: RateLimiter): () => number {
    let count = 0;
    const onChange = rateLimiter.onChange.bind(rateLimiter);
    jest.spyOn(rateLimiter, 'onChange').mockImplementation((callback) => {
      const stop = onChange(callback);
      count += 1;
      return () => {
        count -= 1;
        stop();
      };
    });
    return () => count;
  }

  /** Lets handlers of settled promises run. */
  const settle = () => jest.advanceTimersByTimeAsync(0);

  beforeEach(() => {
    // Timers alone: what else runs in this process uses the others, and they would be counted.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are given up to the worker’s limit while the rate limiter is open, in the order of the requests', async () => {
    const { slots, given, reserve, submit } = setUp(2);
    // A rate limiter opens once a few submits have passed.
    for (let passed = 0; passed < 8; passed += 1) submit({ kind: 'passed' });
    for (const name of ['first', 'second', 'third', 'fourth']) void reserve(name);
    await settle();
    expect(given).toEqual(['first', 'second']);
    slots.releaseSlot();
    await settle();
    expect(given).toEqual(['first', 'second', 'third']);
  });

  it('are not given while the rate limiter is closed, and one is given when its pause is over', async () => {
    const { given, reserve, close } = setUp();
    close();
    void reserve('first');
    void reserve('second');
    await jest.advanceTimersByTimeAsync(4_999);
    expect(given).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(given).toEqual(['first']);
  });

  it('are given although the pause ends between two readings of the clock', async () => {
    for (let early = 0; early < 8; early += 1) {
      const endsAt = Date.now() + 5_000;
      let readings = 0;
      // A timer may fire a little early by another clock: then the first readings are before the end, and the others after it.
      const isEarly = () => Date.now() === endsAt && readings++ < early;
      const { given, reserve, close } = setUp(3, () => Date.now() - (isEarly() ? 0.5 : 0));
      close();
      void reserve('first');
      await jest.advanceTimersByTimeAsync(5_001);
      expect({ early, given }).toEqual({ early, given: ['first'] });
    }
  });

  it('are given when a task ends', async () => {
    const { rateLimiter, given, reserve, submit } = setUp();
    submit({ kind: 'limited' });
    void reserve('first');
    await settle();
    expect(given).toEqual([]);
    rateLimiter.recordTaskEnd();
    await settle();
    expect(given).toEqual(['first']);
  });

  it('are given while a slow submit runs', async () => {
    const world = setUp();
    void world.reserve('first');
    void world.reserve('second');
    await settle();
    expect(world.given).toEqual(['first']);
    world.rateLimiter.acquire('submit');
    await jest.advanceTimersByTimeAsync(5_000);
    expect(world.given).toEqual(['first', 'second']);
  });

  it('are given at once or not at all to a request that does not wait, and never before one that waits', async () => {
    const { slots, reserve, given, close } = setUp(1);
    expect(slots.tryReserveSlot()).toEqual({});
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot();
    close();
    expect(slots.tryReserveSlot()).toBeNull();
    void reserve('first');
    // The pause is over, but the timer has not fired yet.
    jest.setSystemTime(Date.now() + 5_000);
    expect(slots.tryReserveSlot()).toBeNull();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(given).toEqual(['first']);
  });

  it('are not reserved for an aborted request, which leaves neither a timer nor a listener', async () => {
    const { rateLimiter, given, reserve, close, listeners } = setUp(1);
    const looks = jest.spyOn(rateLimiter, 'untilNextChangeMs');
    /** Timers are not counted: what else runs in this process may have some. */
    const looksIn = async (ms: number) => {
      looks.mockClear();
      await jest.advanceTimersByTimeAsync(ms);
      return looks.mock.calls.length;
    };
    close();
    const controller = new AbortController();
    const first = reserve('first', controller.signal);
    expect(listeners()).toBe(1);
    controller.abort();
    await expect(first).rejects.toBe(controller.signal.reason);
    expect([await looksIn(4_000), listeners()]).toEqual([0, 0]);

    void reserve('second');
    expect([await looksIn(1_000), given]).toEqual([1, ['second']]);
    expect([await looksIn(60_000), listeners()]).toEqual([0, 0]);
  });

  it('are refused to a request that is aborted before it starts', async () => {
    const signal = AbortSignal.abort();
    await expect(setUp(1).reserve('first', signal)).rejects.toBe(signal.reason);
  });

  it('do not keep the process alive', () => {
    const { reserve, close } = setUp();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    close();
    void reserve('first');
    expect(timers.mock.results.map(({ value }) => value.hasRef())).toEqual([false]);
  });
});

describe('the janitor', () => {
  const HOUR_MS = 3_600_000;

  let stop: () => void = () => undefined;
  beforeEach(() => {
    // Fakes only its interval: the file system needs real time.
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'setTimeout', 'nextTick', 'Date', 'queueMicrotask'] });
    logs.length = 0;
  });
  afterEach(() => {
    stop();
    jest.useRealTimers();
  });

  /** A partial file, as a killed worker leaves it. */
  function leavePart(hoursAgo: number, within = ''): string {
    mkdirSync(join(folder, within), { recursive: true });
    const file = join(folder, within, newPartName('task'));
    writeFileSync(file, 'half a fox');
    const when = (Date.now() - hoursAgo * HOUR_MS) / 1_000;
    utimesSync(file, when, when);
    return file;
  }

  const logged = () => logs.map(({ level, message, meta }) => [level, message, meta]);

  it('removes files without a write for a day at the start, and then every hour until it is stopped', async () => {
    const old = [leavePart(25), leavePart(1_000, 'foxes/red')];
    const young = [leavePart(23), leavePart(0, 'foxes/red')];
    const video = join(folder, 'fox.mp4');
    writeFileSync(video, 'a whole fox');
    utimesSync(video, 0, 0);
    const { sweep = async () => 0, ...rest } = createFileStorage(folder);
    const sweeps = jest.fn(sweep);
    stop = startJanitor({ ...rest, sweep: sweeps });
    await eventually('something is logged', () => logged().length > 0);
    expect(logged()).toEqual([
      ['INFO', 'removed leftovers of unfinished downloads', expect.objectContaining({ removed: 2 })],
    ]);
    expect(old.filter(existsSync)).toEqual([]);
    expect([...young, video].filter(existsSync)).toHaveLength(3);

    const later = leavePart(25);
    jest.advanceTimersByTime(HOUR_MS - 1);
    expect(existsSync(later)).toBe(true);
    jest.advanceTimersByTime(1);
    await eventually('the second sweep is logged', () => logged().length > 1);
    expect(existsSync(later)).toBe(false);
    stop();
    jest.advanceTimersByTime(10 * HOUR_MS);
    expect(sweeps).toHaveBeenCalledTimes(2);
  });

  it('warns of a sweep that fails, and comes again an hour later', async () => {
    const sweep = jest.fn(async () => {
      throw new StorageFault('EACCES: permission denied');
    });
    stop = startJanitor({ ...createFileStorage(folder), sweep });
    await eventually('the first warning', () => logged().length === 1);
    jest.advanceTimersByTime(HOUR_MS);
    await eventually('the second warning', () => logged().length === 2);
    expect(logged()[1]).toEqual([
      'WARN',
      'could not remove leftovers of unfinished downloads',
      expect.objectContaining({ error: 'StorageFault: EACCES: permission denied' }),
    ]);
    expect(sweep).toHaveBeenCalledTimes(2);
  });
});

describe('at the start', () => {
  /** The packages, and the folders of ours, whose code Node has loaded when a script of the compiled modules ends. */
  function loadedBy(script: string): { packages: string[]; folders: string[] } {
    const output = execFileSync(
      process.execPath,
      ['-e', `${script}; process.stdout.write(JSON.stringify(Object.keys(require.cache)))`],
      { cwd: join(__dirname, '../..'), encoding: 'utf8', maxBuffer: 20 * 1024 * 1024 },
    );
    const files: string[] = JSON.parse(output).filter((file: string) => !file.endsWith('.json'));
    const matches = (pattern: RegExp) =>
      [...new Set(files.flatMap((file) => pattern.exec(file)?.[1] ?? []))].sort();
    return {
      packages: matches(/^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
      folders: matches(/^.*\/dist\/(activities|workflows|src\/[^/]+)\//),
    };
  }

  it("a worker loads zod and a digest beside Temporal's SDK, and no OpenTelemetry, no client of HTTP, S3, videos or YAML", () => {
    const env = { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'k', VIDEOGEN_STORAGE: folder };
    const { packages, folders } = loadedBy(`
      for (const name of ['worker', 'envconfig', 'plugin']) require('@temporalio/' + name);
      const packageOf = (file) => /^.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(file)?.[1];
      const ofSdk = new Set(Object.keys(require.cache).flatMap((file) => packageOf(file) ?? []));
      require('./dist/src/cli/worker');
      require('./dist/src/worker/video-work').prepareWork({ env: ${JSON.stringify(env)} }).storage.probe();
      for (const file of Object.keys(require.cache)) if (ofSdk.has(packageOf(file))) delete require.cache[file];
    `);
    expect(packages).toEqual(['@noble/hashes', 'zod']);
    const rooms = 'cli client config contract encryption media service storage temporal-server worker';
    expect(folders).toEqual(['activities', ...rooms.split(' ').map((room) => `src/${room}`)]);
  });

  it('the help loads the parser of arguments alone', () => {
    const { packages, folders } = loadedBy("require('./dist/src/cli/run')");
    expect(packages).toEqual(['commander']);
    // Of the client, the states that a list may have.
    expect(folders).toEqual(['src/cli', 'src/client', 'src/config', 'src/contract']);
  });
});
