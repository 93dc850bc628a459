import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildOnce } from '../../src/temporal-server/build-once';
import { isDead, ProcessLock } from '../../src/temporal-server/process-lock';
import { eventually } from './eventually';

const NAME = 'thing-1.0';

let cacheFolder: string;

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'build-once-'));
});

afterEach(async () => {
  jest.restoreAllMocks();
  await rm(cacheFolder, { recursive: true, force: true });
});

const writeThing = (folder: string) => writeFile(join(folder, 'thing'), 'whole');

function deadToken(): string {
  return `${spawnSync(process.execPath, ['-e', '']).pid}-${randomUUID()}`;
}

async function leaveLock(token: string, host = hostname()): Promise<void> {
  await mkdir(join(cacheFolder, `${NAME}.lock`));
  await writeFile(join(cacheFolder, `${NAME}.lock`, token), host);
}

test('a build appears under its name only when it is complete', async () => {
  let appearedEarly = true;
  const finished = await buildOnce(cacheFolder, NAME, async (folder) => {
    await writeThing(folder);
    appearedEarly = existsSync(join(cacheFolder, NAME));
  });

  expect(appearedEarly).toBe(false);
  expect(finished).toBe(join(cacheFolder, NAME));
  expect(await readFile(join(finished, 'thing'), 'utf8')).toBe('whole');
  expect(await readdir(cacheFolder)).toEqual([NAME]);
});

test('an existing build is not built again', async () => {
  await buildOnce(cacheFolder, NAME, writeThing);
  const again = jest.fn(writeThing);

  await buildOnce(cacheFolder, NAME, again);

  expect(again).not.toHaveBeenCalled();
});

test('a build that fails half-way leaves nothing behind, and the next one can succeed', async () => {
  const halfWay = async (folder: string) => {
    await writeFile(join(folder, 'thing'), 'half');
    throw new Error('out of memory');
  };

  await expect(buildOnce(cacheFolder, NAME, halfWay)).rejects.toThrow('out of memory');
  expect(await readdir(cacheFolder)).toEqual([]);

  const finished = await buildOnce(cacheFolder, NAME, writeThing);
  expect(await readFile(join(finished, 'thing'), 'utf8')).toBe('whole');
});

test('of many concurrent callers one builds, and the others report which process they wait for', async () => {
  const progress: string[] = [];
  const build = jest.fn(async (folder: string) => {
    await eventually('a caller waits', () => progress.length > 0);
    await writeThing(folder);
  });

  const callers = Array.from({ length: 8 }, () =>
    buildOnce(cacheFolder, NAME, build, (line) => progress.push(line)),
  );

  expect(new Set(await Promise.all(callers))).toEqual(new Set([join(cacheFolder, NAME)]));
  expect(build).toHaveBeenCalledTimes(1);
  expect(progress[0]).toContain(`Waiting for process ${process.pid} on ${hostname()}`);
  expect(await readdir(cacheFolder)).toEqual([NAME]);
});

test('many callers take over the lock of a dead process, and one of them builds', async () => {
  await leaveLock(deadToken());
  const build = jest.fn(writeThing);

  await Promise.all(Array.from({ length: 8 }, () => buildOnce(cacheFolder, NAME, build)));

  expect(build).toHaveBeenCalledTimes(1);
  expect(await readdir(cacheFolder)).toEqual([NAME]);
});

test('a process that frees a stale lock late does not remove the lock that another process has taken', async () => {
  const stale = deadToken();
  await leaveLock(stale);
  const path = join(cacheFolder, `${NAME}.lock`);
  const quick = new ProcessLock(path);
  const late = new ProcessLock(path);

  await quick.free(stale);
  expect(await quick.tryTake()).toBe(true);
  await late.free(stale);

  expect(await late.tryTake()).toBe(false);
  expect((await late.holder())?.token).toBe(quick.token);
  await quick.release();
});

test('a process of another machine is not considered dead because its pid is unused here', async () => {
  const pid = Number.parseInt(deadToken(), 10);
  const holder = { token: '', pid, lastBeatMs: 0 };

  expect(isDead({ ...holder, host: hostname() })).toBe(true);
  expect(isDead({ ...holder, host: `not-${hostname()}` })).toBe(false);
});

test('the lock of another machine is taken over once its heartbeats stop', async () => {
  await leaveLock(deadToken(), `not-${hostname()}`);
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => {
    now += 61_000;
    return now;
  });

  const finished = await buildOnce(cacheFolder, NAME, writeThing);

  expect(await readFile(join(finished, 'thing'), 'utf8')).toBe('whole');
});

test('leftovers of dead builds are removed, and those of a running build are not', async () => {
  const living = `${NAME}.${process.pid}-${randomUUID()}.build`;
  await mkdir(join(cacheFolder, `${NAME}.${deadToken()}.build`));
  await mkdir(join(cacheFolder, `${NAME}.lock.${deadToken()}.claim`));
  await mkdir(join(cacheFolder, living));

  await buildOnce(cacheFolder, NAME, writeThing);

  expect((await readdir(cacheFolder)).sort()).toEqual([NAME, living].sort());
});

test('if two builds run anyway, the first to finish is used and the other is removed', async () => {
  const finished = await buildOnce(cacheFolder, NAME, async (folder) => {
    await mkdir(join(cacheFolder, NAME));
    await writeFile(join(cacheFolder, NAME, 'thing'), 'first');
    await writeThing(folder);
  });

  expect(await readFile(join(finished, 'thing'), 'utf8')).toBe('first');
  expect(await readdir(cacheFolder)).toEqual([NAME]);
});
