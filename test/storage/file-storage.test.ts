import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os, { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import {
  canRemove,
  createFileStorage,
  createStorage,
  newPartName,
  readWithFaults,
  StorageFault,
  storageAddress,
  storageFault,
  sweepParts,
  type VideoStorage,
} from '../../src/storage';
import { eventually } from '../temporal-server/eventually';
import { disk } from './faulty-disk';
import { itFulfilsTheContract, partOf, store, storedAt, VIDEO, wholeOf } from './storage-contract';

jest.mock('node:fs/promises', () =>
  jest
    .requireActual<typeof import('./faulty-disk')>('./faulty-disk')
    .disk.over(jest.requireActual('node:fs/promises')),
);

let folder: string;
let storage: VideoStorage;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'videogen-storage-')), 'videos');
  storage = createFileStorage(folder);
});
afterEach(async () => {
  // A stream that is destroyed closes its file a moment later.
  await eventually('every file is closed', () => disk.openFiles().length === 0);
  rmSync(dirname(folder), { recursive: true });
  expect(disk.end()).toEqual([]);
});

const inStorage = (name: string) => join(folder, name);
const isAt = (name: string) => (path: string) => path === inStorage(name);

/** Makes a file as somebody else would. */
function put(name: string, content = ''): string {
  mkdirSync(dirname(inStorage(name)), { recursive: true });
  writeFileSync(inStorage(name), content);
  return inStorage(name);
}

/** Every file below the folder, hidden ones too. */
function filesThere(): string[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort();
}

itFulfilsTheContract(async () => ({
  storage,
  everything: async () => filesThere(),
  uriOf: (key) => pathToFileURL(inStorage(key)).href,
  async leaveHalf(key) {
    await partOf(storage, key, VIDEO);
  },
}));

test('the settings choose a folder or a bucket, whose address names it', async () => {
  await createStorage({ kind: 'file', folder }).write('x.txt', 'x', 'text/plain');
  expect(filesThere()).toEqual(['x.txt']);
  expect(storageAddress({ kind: 'file', folder })).toBe(pathToFileURL(folder).href);
  const bucket = { kind: 's3', bucket: 'foxes', endpoint: 'http://127.0.0.1:1' } as const;
  expect(storageAddress(bucket)).toBe('s3://foxes at http://127.0.0.1:1');
  expect(storageAddress({ ...bucket, endpoint: undefined, prefix: 'red' })).toBe('s3://foxes/red');
  expect(createStorage(bucket).partsFolder).toBeUndefined();
});

test('a key that looks like a part is refused, because the janitor would remove it', async () => {
  const name = newPartName('fox.mp4');
  await expect(store(storage, `a/${name}`, VIDEO)).rejects.toThrow(StorageFault);
  await expect(storage.write(name, '', 'text/plain')).rejects.toThrow(StorageFault);
});

test('a file of another disk is published too, whole and with nothing left', async () => {
  const elsewhere = mkdtempSync('/dev/shm/videogen-');
  try {
    for (let times = 0; times < 2; times++) {
      writeFileSync(join(elsewhere, 'fox'), VIDEO);
      await storage.publishFile(join(elsewhere, 'fox'), 'a/fox.mp4', wholeOf(VIDEO));
    }
    expect((await storedAt(storage, 'a/fox.mp4'))?.equals(VIDEO)).toBe(true);
    expect(filesThere()).toEqual(['a/fox.mp4']);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test.each<[what: string, make: (path: string) => unknown]>([
  ['a folder', (path) => mkdirSync(path)],
  ['a FIFO, which nobody writes to', (path) => execFileSync('mkfifo', [path])],
  ['a link that leads nowhere', (path) => symlinkSync(`${path}.missing`, path)],
])(
  'what has the name of a stored file and is %s is an error to read, and does not make the name free',
  async (_what, make) => {
    mkdirSync(folder);
    make(inStorage('fox.json'));
    await expect(storage.read('fox.json')).rejects.toThrow(`${inStorage('fox.json')} is not a regular file`);
    expect(await storage.create('fox.json', '{}')).toBe(false);
    expect(readdirSync(folder)).toEqual(['fox.json']);
  },
);

test('what has the name of a stored file and is a folder is not replaced, whatever its size, and nothing is left behind', async () => {
  mkdirSync(inStorage('fox.mp4'), { recursive: true });
  const sameSize = VIDEO.subarray(0, statSync(inStorage('fox.mp4')).size);
  await expect(store(storage, 'fox.mp4', sameSize)).rejects.toThrow('the key "fox.mp4" is taken');
  await expect(storage.write('fox.mp4', 'x', 'text/plain')).rejects.toThrow(StorageFault);
  expect(filesThere()).toEqual([]);
});

test.each<[why: string, make: () => unknown, code: string, key?: string]>([
  ['its folder is a file', () => writeFileSync(folder, ''), 'ENOTDIR'],
  ['the name is too long for the file system', () => undefined, 'ENAMETOOLONG', 'x'.repeat(300)],
])(
  'a storage that cannot be used because %s throws a StorageFault from every call',
  async (_why, make, code, key = 'a/fox.mp4') => {
    make();
    const before = filesThere();
    const source = join(dirname(folder), 'fox');
    writeFileSync(source, VIDEO);
    for (const attempt of [
      () => storage.publishFile(source, key, wholeOf(VIDEO)),
      () => storage.write(key, 'x', 'text/plain'),
      () => storage.create(key, '{}'),
      () => storage.read(key),
    ]) {
      const refusal = attempt();
      await expect(refusal).rejects.toThrow(StorageFault);
      await expect(refusal).rejects.toThrow(code);
    }
    expect(filesThere()).toEqual(before);
  },
);

describe('a probe', () => {
  const FIX =
    'Make it a folder that this user can write to, on a disk with free space and hard links, or set VIDEOGEN_STORAGE to another folder.';

  test('leaves nothing in the folder', async () => {
    await Promise.all([storage.probe?.(), storage.probe?.()]);
    expect(filesThere()).toEqual([]);
  });

  test.each<[what: string, read: VideoStorage['read'], problem: string, limitMs?: number]>([
    [
      'returns a file before it is stored',
      async () => Readable.from(['x']),
      'it returned a file that was never stored',
    ],
    [
      'refuses a missing file',
      () => Promise.reject(new StorageFault('disk 1.5 is full.', { code: 'ENOSPC' })),
      'disk 1.5 is full',
    ],
    ['does not answer in time', () => new Promise(() => undefined), 'no answer within 0.005 s', 5],
  ])(
    'finds a storage that %s, and says the problem and the fix',
    async (_what, read, problem, limitMs = 30_000) => {
      storage.read = read;
      await expect(storage.probe?.(limitMs)).rejects.toMatchObject({
        name: 'StorageUnusable',
        message: `The storage ${folder} cannot be used: ${problem}. ${FIX}`,
        code: problem.includes('full') ? 'ENOSPC' : undefined,
      });
      expect(filesThere()).toEqual([]);
    },
  );
});

test('a disk without hard links creates no small file', async () => {
  disk.failNext('link', 'EPERM');
  const creating = storage.create('jobs/0001.json', '{}');
  await expect(creating).rejects.toMatchObject({ name: 'StorageFault', code: 'ENOTSUP' });
  await expect(creating).rejects.toThrow(
    `the file system of ${inStorage('jobs')} refuses hard links (EPERM), without which two workers could write the same file`,
  );
  expect(filesThere()).toEqual([]);
});

test.each<[call: 'rename' | 'link' | 'writeFile', work: () => Promise<unknown>]>([
  ['rename', () => storage.write('note.txt', 'x', 'text/plain')],
  ['writeFile', () => storage.create('0001.json', '{}')],
  ['link', () => storage.create('0001.json', '{}')],
  ['link', () => store(storage, 'fox.mp4', VIDEO)],
])('a disk that fails to %s stores nothing, and leaves nothing', async (call, work) => {
  disk.failNext(call, 'EIO');
  await expect(work()).rejects.toThrow('EIO');
  expect(filesThere()).toEqual([]);
});

test('a disk that fails to remove a part has still stored the file, and the next sweep removes the part', async () => {
  disk.failNext('unlink', 'EIO');
  expect(await storage.create('0001.json', '{}')).toBe(true);
  disk.failNext('unlink', 'EIO');
  await store(storage, 'fox.mp4', VIDEO);
  await storage.sweep?.(-1_000);
  expect(filesThere()).toEqual(['0001.json', 'fox.mp4']);
});

test('a disk that fails to read or to remove a file says so, and a file that is gone meanwhile is not there', async () => {
  await storage.create('0001.json', '{}');
  disk.failNext('open', 'EACCES', isAt('0001.json'));
  await expect(storage.read('0001.json')).rejects.toThrow('EACCES');
  disk.failNext('stat', 'EIO', isAt('0001.json'));
  await expect(storage.read('0001.json')).rejects.toMatchObject({ code: 'EIO' });
  disk.failNext('open', 'ENOENT', isAt('0001.json'));
  expect(await storage.read('0001.json')).toBeUndefined();
  disk.failNext('rm', 'EACCES');
  await expect(storage.removeKey?.('0001.json')).rejects.toThrow(StorageFault);
});

describe('a sweep', () => {
  const HOUR_MS = 3_600_000;
  const partName = () => `.videogen-0123456789abcdef-${randomUUID()}.part`;
  const putOld = (name: string) => {
    const path = put(name);
    utimesSync(path, new Date(0), new Date(0));
    return path;
  };

  test('removes old parts at any depth and nothing else, however old', async () => {
    const others = ['.hidden', '.videogen-0-1.part', '.x.part', 'fox.mp4'].map((name) => `a/b/${name}`);
    others.push(`a/b/x${partName()}`, `a/b/${partName()}x`);
    for (const name of [...others, partName(), `a/b/${partName()}`]) putOld(name);
    mkdirSync(inStorage(partName()));
    const fresh = partName();
    put(fresh);
    expect(await storage.sweep?.(HOUR_MS)).toBe(2);
    expect(filesThere()).toEqual([fresh, ...others].sort());
    expect(await createFileStorage(inStorage('none')).sweep?.(HOUR_MS)).toBe(0);
  });

  test('neither follows links out of the folder nor removes them', async () => {
    const outside = putOld(`../outside/${partName()}`);
    mkdirSync(folder);
    symlinkSync(dirname(outside), inStorage('inside'));
    symlinkSync(outside, inStorage(partName()));
    expect(await storage.sweep?.(HOUR_MS)).toBe(0);
    expect(existsSync(outside)).toBe(true);
  });

  test('of a worker includes the folder of temporary files, if the storage has unfinished videos there', async () => {
    const elsewhere = dirname(folder);
    const temporary = jest.spyOn(os, 'tmpdir').mockReturnValue(elsewhere);
    const swept = (one: VideoStorage) => {
      for (const name of [partName(), `../${partName()}`, '../fox.txt']) putOld(name);
      return sweepParts(one, HOUR_MS).finally(() => rmSync(folder, { recursive: true, force: true }));
    };
    try {
      expect(await swept({ ...storage, partsFolder: undefined })).toBe(2);
      expect(readdirSync(elsewhere)).toEqual(['fox.txt']);
      expect(await swept({ ...storage, partsFolder: undefined, sweep: undefined })).toBe(1);
      expect(await swept({ ...storage, sweep: undefined })).toBe(0);
      expect(readdirSync(elsewhere)).toHaveLength(2);
    } finally {
      temporary.mockRestore();
    }
  });

  test.each(['EACCES', 'ENOENT'])(
    'leaves a folder that it may not read, or that is gone (%s), and sweeps the others',
    async (code) => {
      const parts = ['a', 'b'].map((name) => putOld(`${name}/${partName()}`));
      disk.failNext('readdir', code, isAt('a/'));
      expect(await storage.sweep?.(HOUR_MS)).toBe(1);
      expect(parts.map((part) => existsSync(part))).toEqual([true, false]);
    },
  );
});

test('a storage of the user without a list, a removal or keys of addresses cannot remove what jobs left', () => {
  expect(canRemove(storage)).toBe(true);
  for (const missing of ['list', 'removeKey', 'keyOf'])
    expect([missing, canRemove({ ...storage, [missing]: undefined })]).toEqual([missing, false]);
});

test('a list has folders and files in the order of their names, without those that are removed meanwhile', async () => {
  for (const name of ['c.txt', 'e.txt', 'a.txt', 'd.txt', 'b/x.txt']) put(name);
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of storage.list?.('') ?? []) found.push(key);
    return found;
  };
  disk.listNextBackwards();
  expect(await keys()).toEqual(['a.txt', 'b/x.txt', 'c.txt', 'd.txt', 'e.txt']);
  disk.failNext('stat', 'ENOENT', isAt('a.txt'));
  disk.failNext('readdir', 'ENOTDIR', isAt('b/'));
  expect(await keys()).toEqual(['c.txt', 'd.txt', 'e.txt']);
});

test('a fault has the message of its error, or else its code, and never a megabyte of it', () => {
  const errorWith = (message: string, code: string) => Object.assign(new Error(message), { code });
  const fault = storageFault(errorWith('', 'ECONNREFUSED'));
  expect(fault).toMatchObject({ message: 'ECONNREFUSED', code: 'ECONNREFUSED', isFinal: false });
  expect(fault.cause).toBeUndefined();
  expect(storageFault(fault)).toBe(fault);
  expect(storageFault({ message: 'no name' }).message).toBe('no name');
  expect(storageFault(Object.assign(new Error('no'), { name: 'NoSuchKey' })).message).toBe('NoSuchKey: no');
  const long = 'x'.repeat(1_000_000);
  const cut = storageFault(Object.assign(errorWith(long, long), { name: long }));
  expect(cut.message.length).toBeLessThanOrEqual(2_000);
  expect(cut.code?.length).toBeLessThanOrEqual(10_000);
});

test('a stored file that fails before anybody listens is a fault, and does not end the process', async () => {
  const source = new PassThrough();
  const reader = readWithFaults(source);
  const closed = new Promise((resolve) => reader.once('close', resolve));
  source.destroy(new Error('EIO: i/o error'));
  await closed;
  expect(reader.errored).toMatchObject({ name: 'StorageFault', message: 'EIO: i/o error' });
});
