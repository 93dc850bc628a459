import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createFileStorage, readStoredVideo, StorageFault, type VideoStorage } from '../../src/storage';
import { newPartName } from '../../src/storage/disk-files';
import { disk } from '../support/faulty-disk';
import { store, VIDEO } from './storage-contract';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('../support/faulty-disk')>('../support/faulty-disk')
    .disk.over(jest.requireActual('node:fs/promises')),
);

let folder: string;
let storage: VideoStorage;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'videogen-faults-')), 'videos');
  mkdirSync(folder);
  storage = createFileStorage(folder);
});
afterEach(() => {
  rmSync(dirname(folder), { recursive: true });
  expect(disk.end()).toEqual([]);
});

const FOX = VIDEO.subarray(0, 200_000);
const SMALL = VIDEO.subarray(0, 1_000);
const inStorage = (name: string) => join(folder, name);
const namesThere = () => readdirSync(folder, { recursive: true }).sort();
const isAt = (name: string) => (path: string) => path === inStorage(name);

describe('no file stays open', () => {
  afterEach(() => expect(disk.openFiles()).toEqual([]));

  it('after it is written, or could not be', async () => {
    await storage.write('note.txt', 'a fox', 'text/plain');
    disk.failNext('rename', 'EIO');
    await expect(storage.write('note.txt', 'an owl', 'text/plain')).rejects.toThrow('EIO');
    expect(namesThere()).toEqual(['note.txt']);
  });

  it('after it is created, or could not be, and no part stays', async () => {
    await storage.create('0001.json', '{}');
    await storage.create('0001.json', '{}');
    for (const fault of ['link', 'writeFile'] as const) {
      disk.failNext(fault, 'EIO');
      await expect(storage.create('0002.json', '{}')).rejects.toThrow('EIO');
    }
    mkdirSync(inStorage('0003.json'));
    await expect(storage.read('0003.json')).rejects.toThrow('is not a regular file');
    expect(namesThere()).toEqual(['0001.json', '0003.json']);
  });

  it.each([
    ['small', SMALL],
    ['large', FOX],
  ])('after it is read, whole or in part, or only opened: %s', async (_, bytes) => {
    await store(storage, 'fox.mp4', bytes);
    const whole = await storage.read('fox.mp4');
    expect(whole && (await buffer(whole)).equals(bytes)).toBe(true);
    const part = await storage.read('fox.mp4', { start: 2, end: 5 });
    expect(part && (await buffer(part))).toEqual(bytes.subarray(2, 6));
    const unread = await storage.read('fox.mp4');
    const closed = new Promise((resolve) => unread?.once('close', resolve));
    unread?.destroy();
    await closed;
    await untilClosed();
  });

  it('that is no file', async () => {
    mkdirSync(inStorage('fox.mp4'));
    await expect(storage.read('fox.mp4')).rejects.toThrow('is not a regular file');
  });

  it('of a video that is published, that was there, or that cannot be', async () => {
    for (let times = 0; times < 2; times++) await store(storage, 'fox.mp4', FOX);
    const other = Buffer.concat([FOX, SMALL]);
    await expect(store(storage, 'fox.mp4', other)).rejects.toThrow('is taken by another file');
    await untilClosed();
  });
});

/** A stream that is destroyed closes its file a moment later. */
async function untilClosed(): Promise<void> {
  while (disk.openFiles().length > 0) await new Promise((resolve) => setImmediate(resolve));
}

describe('a folder', () => {
  it('that cannot be synced still keeps its files', async () => {
    disk.failNext('open', 'EACCES', (path) => path === folder);
    await storage.write('note.txt', 'x', 'text/plain');
    expect(namesThere()).toEqual(['note.txt']);
  });
});

describe('a file that is removed', () => {
  it('is none outside the folder', async () => {
    writeFileSync(join(folder, '../fox.mp4'), 'x');
    await expect(storage.removeKey?.('../fox.mp4')).rejects.toThrow(StorageFault);
    for (const uri of [`file://${folder}/../fox.mp4`, 's3://videos/fox.mp4', 'file:///%00'])
      expect(storage.keyOf?.(uri)).toBeUndefined();
    expect(existsSync(join(folder, '../fox.mp4'))).toBe(true);
    expect(await readStoredVideo(storage, `file://${folder}/../fox.mp4`)).toBeUndefined();
  });

  it('and cannot be is a fault', async () => {
    await store(storage, 'fox.mp4', SMALL);
    disk.failNext('rm', 'EACCES');
    await expect(storage.removeKey?.('fox.mp4')).rejects.toThrow(StorageFault);
  });
});

describe('a sweep', () => {
  const HOUR_MS = 3_600_000;
  const leaveOldPart = (...path: string[]) => {
    const part = join(folder, ...path, newPartName('job-1'));
    mkdirSync(dirname(part), { recursive: true });
    writeFileSync(part, '');
    utimesSync(part, new Date(0), new Date(0));
    return part;
  };

  it.each(['EACCES', 'EPERM'])(
    'leaves a folder of another user (%s), and sweeps the others',
    async (code) => {
      const parts = ['a', 'b'].map((name) => leaveOldPart(name));
      disk.failNext('readdir', code, isAt('a/'));
      expect(await storage.sweep?.(HOUR_MS)).toBe(1);
      expect(parts.map((part) => existsSync(part))).toEqual([true, false]);
    },
  );

  it('is a fault on a broken disk', async () => {
    leaveOldPart('a');
    disk.failNext('readdir', 'EIO', isAt('a/'));
    await expect(storage.sweep?.(HOUR_MS)).rejects.toThrow(StorageFault);
    disk.failNext('lstat', 'EIO');
    await expect(storage.sweep?.(HOUR_MS)).rejects.toThrow(StorageFault);
  });

  it('counts neither a folder nor a part that is removed meanwhile', async () => {
    for (const name of ['a', 'b', 'c']) leaveOldPart(name);
    disk.failNext('readdir', 'ENOENT', isAt('a/'));
    disk.failNext('lstat', 'ENOENT', (path) => path.startsWith(inStorage('b')));
    expect(await storage.sweep?.(HOUR_MS)).toBe(1);
  });

  it('of a storage without a folder yet removes nothing', async () => {
    expect(await createFileStorage(inStorage('none')).sweep?.(HOUR_MS)).toBe(0);
  });
});

describe('a list', () => {
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of storage.list?.('') ?? []) found.push(key);
    return found;
  };
  beforeEach(() => {
    mkdirSync(inStorage('b'));
    for (const name of ['c.txt', 'e.txt', 'a.txt', 'd.txt', 'b/x.txt']) writeFileSync(inStorage(name), '');
  });

  it('has folders and files in the order of their names, whatever the system says', async () => {
    disk.listNextBackwards();
    expect(await keys()).toEqual(['a.txt', 'b/x.txt', 'c.txt', 'd.txt', 'e.txt']);
  });

  it('skips what is removed meanwhile', async () => {
    disk.failNext('stat', 'ENOENT', isAt('a.txt'));
    disk.failNext('readdir', 'ENOTDIR', isAt('b/'));
    expect(await keys()).toEqual(['c.txt', 'd.txt', 'e.txt']);
  });

  it.each([
    ['readdir', 'b/'],
    ['stat', 'a.txt'],
  ] as const)('is a fault when %s fails', async (call, name) => {
    disk.failNext(call, 'EIO', isAt(name));
    await expect(keys()).rejects.toThrow(StorageFault);
  });
});

describe('a video', () => {
  it('is not published when its bytes cannot be stored, and nothing is left', async () => {
    disk.failNext('link', 'EIO');
    await expect(store(storage, 'fox.mp4', FOX)).rejects.toThrow('EIO');
    expect(namesThere()).toEqual([]);
  });

  it('is stored although its part cannot be removed', async () => {
    disk.failNext('unlink', 'EIO');
    await store(storage, 'fox.mp4', FOX);
    expect(namesThere()).toContain('fox.mp4');
  });

  it('does not replace a folder, whatever its size', async () => {
    mkdirSync(inStorage('fox.mp4'));
    const video = VIDEO.subarray(0, statSync(inStorage('fox.mp4')).size);
    await expect(store(storage, 'fox.mp4', video)).rejects.toThrow('is taken by another file');
  });
});

it('a probe tells the error of the write, whatever the removal says', async () => {
  disk.failNext('rename', 'ENOSPC');
  await expect(storage.probe?.()).rejects.toThrow('ENOSPC');
  disk.failNext('rm', 'EACCES', (path) => path.includes('probe'));
  await storage.probe?.();
});

it('a large file comes in pieces', async () => {
  await store(storage, 'fox.mp4', FOX);
  for await (const chunk of (await storage.read('fox.mp4')) ?? [])
    expect(chunk.length).toBeLessThan(FOX.length);
});

it('a small file can be read a few bytes at a time', async () => {
  await storage.write('note.txt', 'a fox', 'text/plain');
  const reader = await storage.read('note.txt');
  await new Promise((resolve) => reader?.once('readable', resolve));
  expect(String(reader?.read(2))).toBe('a ');
  expect(String(reader?.read())).toBe('fox');
});

describe('a file system without hard links', () => {
  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])('creates no small file: %s', async (code) => {
    disk.failNext('link', code);
    const creating = storage.create('jobs/0001.json', '{}');
    await expect(creating).rejects.toThrow(StorageFault);
    await expect(creating).rejects.toThrow(
      `the file system of ${inStorage('jobs')} refuses hard links (${code}), without which two workers could write the same file`,
    );
    expect(namesThere()).toEqual(['jobs']);
  });

  it('is found by a probe, with the fix', async () => {
    disk.failNext('link', 'EPERM');
    await expect(storage.probe?.()).rejects.toThrow(
      /refuses hard links .* hard links, or set VIDEOGEN_STORAGE to another folder\.$/,
    );
    expect(namesThere()).toEqual([]);
  });
});

it('a part of a created file that cannot be removed does not make it fail', async () => {
  disk.failNext('unlink', 'EIO');
  expect(await storage.create('0001.json', '{}')).toBe(true);
  expect(namesThere()).toHaveLength(2);
  expect(await storage.sweep?.(-1_000)).toBe(1);
  expect(namesThere()).toEqual(['0001.json']);
});

it('a file of a folder that may not be read is an error ', async () => {
  await storage.create('0001.json', '{}');
  disk.failNext('open', 'EACCES', isAt('0001.json'));
  await expect(storage.read('0001.json')).rejects.toThrow('EACCES');
});

it('a file that the disk cannot find out about is an error of the disk', async () => {
  await storage.create('0001.json', '{}');
  disk.failNext('stat', 'EIO', isAt('0001.json'));
  await expect(storage.read('0001.json')).rejects.toMatchObject({ code: 'EIO' });
});

it('a file that is removed while it is opened is not there', async () => {
  await storage.create('0001.json', '{}');
  disk.failNext('open', 'ENOENT', isAt('0001.json'));
  expect(await storage.read('0001.json')).toBeUndefined();
});
