import {
  expireVideos,
  keepUntil,
  type RemovingStorage,
  readRecord,
  recordKey,
  shareVideo,
} from '../../src/retention';
import { StorageFault } from '../../src/storage';
import { store, storedAt } from '../storage/storage-contract';
import { atLength } from '../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../support/s3-server';
import {
  allKeys,
  counting,
  HOUR_MS,
  KINDS,
  killedAt,
  NAMESPACE,
  RECORD,
  type StorageKind,
  storeAs,
  storeUntil,
  VIDEO,
} from './retention-world';

const NOW_MS = Date.now();
const at = (ms: number) => new Date(Math.ceil((NOW_MS + ms) / 1_000) * 1_000).toISOString();
/** In a day, and an hour after that. */
const SOON = at(24 * HOUR_MS);
const LATER = at(48 * HOUR_MS);
const AFTER_SOON_MS = NOW_MS + 25 * HOUR_MS;
const AFTER_LATER_MS = NOW_MS + 49 * HOUR_MS;

const stateOf = async (storage: RemovingStorage, job: string) =>
  (await readRecord(storage, recordKey(job, RECORD)))?.state;

describe.each(['a folder', 'S3'] as const)('in %s', (kindName) => {
  /** S3 takes longer, and the order of the calls is the same. */
  const isQuick = kindName === 'a folder' || atLength(false, true);

  let kind: StorageKind;
  let storage: RemovingStorage;
  beforeAll(async () => {
    kind = await KINDS[kindName]();
  }, S3_SERVER_TIMEOUT_MS);
  afterAll(() => kind?.close());
  beforeEach(async () => {
    storage = await kind.create();
  });

  const isThere = async (key: string) => (await storedAt(storage, key)) !== undefined;

  test('its pictures go with a video, and a file of somebody else with such a name stays', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON, extras: ['poster', 'last-frame'] });
    await storage.write('owl.mp4.poster.png', 'mine', 'image/png');
    await storeUntil(storage, { job: 'owl', expiresAt: SOON });
    await expireVideos(storage, { nowMs: AFTER_SOON_MS });
    const left = (await allKeys(storage)).filter((key) => !key.startsWith('jobs/'));
    expect(left).toEqual(['owl.mp4.poster.png']);
  });

  test('a video whose time is over goes with its sidecar, and all others stay', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    await storeUntil(storage, { job: 'owl', expiresAt: LATER });
    await storeAs(storage, { job: 'elk' });
    expect(await expireVideos(storage, { nowMs: AFTER_SOON_MS })).toEqual({
      removed: 1,
      shared: 0,
      failed: 0,
      jobs: ['fox'],
    });
    expect((await allKeys(storage)).filter((key) => !key.startsWith('jobs/'))).toEqual([
      'elk.mp4',
      'elk.mp4.json',
      'owl.mp4',
      'owl.mp4.json',
    ]);
    expect(await Promise.all(['fox', 'owl', 'elk'].map((job) => stateOf(storage, job)))).toEqual([
      'expired',
      'stored',
      'stored',
    ]);
    expect(await expireVideos(storage, { nowMs: AFTER_LATER_MS })).toMatchObject({
      removed: 1,
      jobs: ['owl'],
    });
    expect((await allKeys(storage)).filter((key) => /^jobs\/(keys|expiry)\//.test(key))).toEqual([]);
  });

  test('clocks may differ by some minutes: a video that expired just now stays', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    await expireVideos(storage, { nowMs: Date.parse(SOON) + 4 * 60_000 });
    expect(await isThere('fox.mp4')).toBe(true);
  });

  test('two janitors at once remove each video, and neither fails', async () => {
    const jobs = Array.from({ length: 6 }, (_, index) => `fox-${index}`);
    for (const job of jobs) await storeUntil(storage, { job, expiresAt: SOON });
    const rounds = await Promise.all([1, 2].map(() => expireVideos(storage, { nowMs: AFTER_SOON_MS })));
    expect(rounds.map(({ failed, error }) => [failed, error])).toEqual([
      [0, undefined],
      [0, undefined],
    ]);
    const left = await allKeys(storage);
    expect(left.sort()).toEqual(jobs.map((job) => recordKey(job, RECORD)).sort());
  });

  test('a janitor that is killed at any call is finished by the next', async () => {
    for (let call = 1; ; call++) {
      storage = await kind.create();
      await storeUntil(storage, { job: 'fox', expiresAt: SOON });
      const killed = killedAt(storage, call);
      await expireVideos(killed, { nowMs: AFTER_SOON_MS }).catch(() => undefined);
      await expireVideos(storage, { nowMs: AFTER_SOON_MS });
      const left = (await allKeys(storage)).filter((key) => !key.includes('/removing-'));
      expect([call, left, await stateOf(storage, 'fox')]).toEqual([
        call,
        [recordKey('fox', RECORD)],
        'expired',
      ]);
      if (killed.calls() < call) break;
      if (!isQuick) call += 6;
    }
  });

  test('a video that two jobs use stays until the last of them', async () => {
    await storeUntil(storage, { job: 'fox', key: 'shared.mp4', expiresAt: SOON });
    await storeUntil(storage, { job: 'owl', key: 'shared.mp4', expiresAt: LATER });
    expect(await expireVideos(storage, { nowMs: AFTER_SOON_MS })).toMatchObject({ removed: 0, shared: 1 });
    expect(await isThere('shared.mp4')).toBe(true);
    expect(await stateOf(storage, 'fox')).toBe('expired');
    expect(await expireVideos(storage, { nowMs: AFTER_LATER_MS })).toMatchObject({ removed: 1 });
    expect((await allKeys(storage)).filter((key) => /^(jobs\/(keys|expiry)\/|shared)/.test(key))).toEqual([]);
  });

  test('a video that a job without a date found or left there stays for good', async () => {
    await storeUntil(storage, { job: 'fox', key: 'first.mp4', expiresAt: SOON });
    const found = { namespace: NAMESPACE, job: 'owl', key: 'first.mp4', mayBeOwn: false };
    expect(await shareVideo(storage, found)).toBe(true);
    // The other way round: the one without a date was first, and has said nothing.
    await storeAs(storage, { job: 'elk', key: 'second.mp4' });
    await keepUntil(storage, { namespace: NAMESPACE, job: 'fox', key: 'second.mp4', expiresAt: SOON });
    expect(await shareVideo(storage, { ...found, job: 'fox', key: 'second.mp4', expiresAt: SOON })).toBe(
      true,
    );
    await expireVideos(storage, { nowMs: AFTER_LATER_MS });
    expect([await isThere('first.mp4'), await isThere('second.mp4')]).toEqual([true, true]);
  });

  test('a video that another job stores while nothing was left to remove stays', async () => {
    await storeUntil(storage, { job: 'fox', key: 'shared.mp4', expiresAt: SOON });
    await storage.removeKey('shared.mp4');
    const asked = async (key: string) => {
      const found = await storage.storedAt(key);
      if (key === 'shared.mp4') await store(storage, key, VIDEO, { owner: 'task-2' });
      return found;
    };
    await expireVideos({ ...storage, storedAt: asked }, { nowMs: AFTER_SOON_MS });
    expect(await storedAt(storage, 'shared.mp4')).toBeDefined();
  });

  test('a job that keeps its video for longer is not undone by its first date', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    await keepUntil(storage, {
      namespace: NAMESPACE,
      job: 'fox',
      key: 'fox.mp4',
      record: RECORD,
      expiresAt: LATER,
    });
    expect(await expireVideos(storage, { nowMs: AFTER_SOON_MS })).toMatchObject({ removed: 0, shared: 0 });
    expect(await isThere('fox.mp4')).toBe(true);
    expect(await expireVideos(storage, { nowMs: AFTER_LATER_MS })).toMatchObject({ removed: 1 });
  });

  /** Stops a janitor before each of its calls, lets a job begin there, and goes on. */
  async function raceAtEachCall(
    callsOfJob: number,
    store: (storage: RemovingStorage) => Promise<void>,
  ): Promise<void> {
    for (let stop = 1; ; stop++) {
      storage = await kind.create();
      await storeUntil(storage, { job: 'fox', key: 'shared.mp4', expiresAt: SOON });
      let job: Promise<void> | undefined;
      const watched = counting(storage, async (call) => {
        if (call !== stop) return;
        // So far that the job would be done, or nearly, if it did not wait for the janitor.
        const began = new Promise<void>((resolve) => {
          const own = counting(storage, async (ownCall) => {
            if (ownCall === callsOfJob) setImmediate(resolve);
          });
          job = store(own).finally(resolve);
        });
        await began;
      });
      await expireVideos(watched, { nowMs: AFTER_SOON_MS });
      await job;
      await expireVideos(storage, { nowMs: AFTER_SOON_MS });
      if (job === undefined) break;
      expect([stop, await isThere('shared.mp4')]).toEqual([stop, true]);
      if (!isQuick) stop += 6;
    }
  }

  test('a job that stores the same video with a later date while a janitor removes it has it afterwards', async () => {
    await raceAtEachCall(3, (own) => storeUntil(own, { job: 'owl', key: 'shared.mp4', expiresAt: LATER }));
  });

  test('so has a job without a date that finds the video there', async () => {
    await raceAtEachCall(9, async (own) => {
      const found = { namespace: NAMESPACE, job: 'owl', key: 'shared.mp4', mayBeOwn: false };
      for (;;) {
        const { wasThere } = await store(own, 'shared.mp4', VIDEO, { owner: 'task-1' });
        if (!wasThere || (await shareVideo(own, found))) return;
      }
    });
  });
});

describe('the marks', () => {
  let kind: StorageKind;
  let storage: RemovingStorage;
  beforeEach(async () => {
    kind = await KINDS['a folder']();
    storage = await kind.create();
  });
  afterEach(() => kind.close());

  test('that are not due are not read, however many there are', async () => {
    for (let day = 2; day < 22; day++)
      await keepUntil(storage, {
        namespace: NAMESPACE,
        job: `fox-${day}`,
        key: 'fox.mp4',
        expiresAt: at(day * 24 * HOUR_MS),
      });
    const watched = counting(storage, async () => undefined);
    await expireVideos(watched, { nowMs: AFTER_SOON_MS });
    expect(watched.calls()).toBe(1);
  });

  test('that cannot be read, or name a record of ours, remove nothing and stop nobody', async () => {
    const mark = (digit: string) => `jobs/expiry/2020-01-01/T000000-${digit.repeat(32)}.json`;
    const record = recordKey('elk', RECORD);
    await storeAs(storage, { job: 'elk' });
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    await storage.write(mark('a'), 'not JSON', 'application/json');
    const hostile = { namespace: NAMESPACE, job: 'elk', key: record, expiresAt: at(-HOUR_MS) };
    await storage.write(mark('b'), JSON.stringify(hostile), 'application/json');
    await storage.write(mark('c'), JSON.stringify({ ...hostile, key: '../elk.mp4' }), 'application/json');
    expect(await expireVideos(storage, { nowMs: AFTER_SOON_MS })).toMatchObject({ removed: 1, failed: 3 });
    expect(await storedAt(storage, record)).toBeDefined();
  });

  test('that are damaged stop no round, however many there are', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    for (let mark = 0; mark < 30; mark++) {
      const digest = String(mark).padStart(32, '0');
      await storage.write(`jobs/expiry/2020-01-01/T000000-${digest}.json`, 'not JSON', 'application/json');
    }
    expect(await expireVideos(storage, { nowMs: AFTER_SOON_MS })).toMatchObject({ removed: 1, failed: 30 });
  });

  test('stop a round at a storage that refuses everything', async () => {
    for (let job = 0; job < 30; job++) await storeUntil(storage, { job: `fox-${job}`, expiresAt: SOON });
    const removeKey = async () => {
      throw new StorageFault('EACCES: permission denied');
    };
    const { failed, removed, error } = await expireVideos(
      { ...storage, removeKey },
      { nowMs: AFTER_SOON_MS },
    );
    expect([failed, removed, String(error)]).toEqual([20, 0, 'StorageFault: EACCES: permission denied']);
  });
});
