import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KeptJob, VideoKeeping } from '../../../activities/download/keep-video';
import type { ReceivedVideo } from '../../../activities/download/video-download';
import type { StoredRecord } from '../../../src/retention';
import { createFileStorage, StorageFault, type VideoStorage } from '../../../src/storage';
import { startAttempt } from '../activity-world';
import { inMemory } from './memory-storage';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const IN_A_DAY = '2030-01-02T00:00:00.000Z';
const VIDEO = { uri: 'file:///fox.mp4', bytes: 5, sha256: 'aa', contentType: 'video/mp4' };
const PICTURE = {
  uri: 'file:///fox.png',
  bytes: 1,
  sha256: 'bb',
  contentType: 'image/png',
  width: 1,
  height: 1,
};

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-keeping-'));
  storage = createFileStorage(folder);
  jest.spyOn(Date, 'now').mockReturnValue(NOW);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const keepingOf = (kept: Partial<KeptJob> = {}) =>
  new VideoKeeping(storage, { job: 'fox', record: '1', keepFor: undefined, hasSidecars: true, ...kept });

/** The files that say who uses a video, or until when, by their folder. */
async function marksIn(of: 'keys' | 'expiry') {
  const names = await readdir(join(folder, 'jobs', of), { recursive: true }).catch(() => []);
  const files = names.filter((name) => name.endsWith('.json'));
  const marks = files.map(async (name) => JSON.parse(await readFile(join(folder, 'jobs', of, name), 'utf8')));
  return Promise.all(marks);
}
const usersOfVideo = async () => (await marksIn('keys')).map(({ job }) => job).sort();

/** Publishes a video that the storage has by then, unless it is removed again. */
async function publish(
  kept: Partial<KeptJob> = {},
  { wasThere = false, attempt = 1, isRemoved = false } = {},
) {
  const keeping = keepingOf(kept);
  const download = async (prepare?: (key: string) => Promise<void>): Promise<ReceivedVideo> => {
    await prepare?.('fox.mp4');
    if (!isRemoved) await writeFile(join(folder, 'fox.mp4'), 'video');
    return { key: 'fox.mp4', wasThere, video: VIDEO, doubts: [] };
  };
  const activity = () => keeping.publish({ publish: download });
  const { video } = await startAttempt(activity, undefined, { attempt }).result;
  return { video, doubts: keeping.doubts };
}

describe('a published video', () => {
  it('has a date, which its job and the janitor know', async () => {
    const { video } = await publish({ keepFor: '1d' });
    expect(video).toEqual({ ...VIDEO, expiresAt: IN_A_DAY });
    const named = { namespace: 'test', job: 'fox' };
    expect(await marksIn('expiry')).toMatchObject([
      { ...named, key: 'fox.mp4', record: '1', expiresAt: IN_A_DAY },
    ]);
    expect(await marksIn('keys')).toMatchObject([{ ...named, expiresAt: IN_A_DAY }]);
  });

  it('has no date if its job has none, and nothing is written about it', async () => {
    expect(await publish()).toEqual({ video: VIDEO, doubts: [] });
    expect(await readdir(folder)).toEqual(['fox.mp4']);
  });

  it.each<[keepFor: string | undefined, doubts: string[]]>([
    ['1d', ['keepFor has no effect, because the storage cannot list and remove files']],
    [undefined, []],
  ])('of a storage that cannot remove files has no date, with keepFor %s', async (keepFor, doubts) => {
    storage = inMemory();
    expect(await publish({ keepFor })).toEqual({ video: VIDEO, doubts });
  });

  it.each<[what: string, given: Parameters<typeof publish>, users: string[]]>([
    ['by an earlier attempt is its own', [{}, { attempt: 2 }], []],
    [
      'before the first attempt is also that of an earlier job',
      [{}, { attempt: 1 }],
      ['an earlier job', 'fox'],
    ],
    [
      'by somebody who writes no sidecars may be that of an earlier job',
      [{ hasSidecars: false }, { attempt: 2 }],
      ['an earlier job', 'fox'],
    ],
  ])('that was stored %s', async (_what, [kept, options], users) => {
    await publish(kept, { ...options, wasThere: true });
    expect(await usersOfVideo()).toEqual(users);
  });

  it('that nobody had stored before has no other users', async () => {
    await publish({ keepFor: '1d' }, { attempt: 2 });
    expect(await usersOfVideo()).toEqual(['fox']);
  });

  it('that was there and is removed at this moment is downloaded again', async () => {
    const publishing = publish({}, { wasThere: true, isRemoved: true });
    await expect(publishing).rejects.toThrow(StorageFault);
    await expect(publishing).rejects.toThrow('fox.mp4 was there and was removed at this moment');
  });
});

describe('a video that is found again', () => {
  const found = (expiresAt: string | undefined, more: Partial<StoredRecord> = {}): StoredRecord => ({
    state: 'stored',
    taskId: 'task-1',
    key: 'fox.mp4',
    video: { ...VIDEO, ...(expiresAt && { expiresAt }) },
    warnings: [],
    ...more,
  });
  const renew = (record: StoredRecord, kept: Partial<KeptJob> = {}) =>
    startAttempt(() => keepingOf(kept).renew(record), undefined).result;
  const at = (afterMs: number) => new Date(NOW + afterMs).toISOString();

  it('keeps its date when the job has none', async () => {
    const record = found(IN_A_DAY);
    expect(await renew(record)).toBe(record.video);
    expect(await marksIn('expiry')).toEqual([]);
  });

  it('has expired at its date, if nobody renews it', async () => {
    expect(await renew(found(at(0)))).toBeUndefined();
    expect(await renew(found(at(-1_000)))).toBeUndefined();
    expect(await renew(found(at(1_000)))).toBeDefined();
    expect(await renew(found(at(-1_000)), { keepFor: '1d' })).toMatchObject({ expiresAt: IN_A_DAY });
  });

  it('gets a later date only', async () => {
    const record = found(IN_A_DAY);
    expect(await renew(record, { keepFor: '1d' })).toBe(record.video);
    expect(await renew(record, { keepFor: '1h' })).toBe(record.video);
    expect(await marksIn('expiry')).toEqual([]);
    expect(await renew(record, { keepFor: '2d' })).toMatchObject({ expiresAt: '2030-01-03T00:00:00.000Z' });
  });

  it.each<[what: string, more: Partial<StoredRecord>, extras: string[] | undefined]>([
    ['takes its pictures along', { extras: { poster: PICTURE } }, ['poster']],
    ['may have no pictures', {}, undefined],
  ])('%s', async (_what, more, extras) => {
    await renew(found(at(1_000), more), { keepFor: '1d' });
    const [mark] = await marksIn('expiry');
    expect(mark.extras).toEqual(extras);
  });
});
