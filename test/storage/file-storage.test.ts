import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import {
  createFileStorage,
  createStorage,
  StorageFault,
  StorageUnusable,
  storageAddress,
  type VideoStorage,
} from '../../src/storage';
import { newPartName } from '../../src/storage/disk-files';
import { probeStorage } from '../../src/storage/probe';
import { readWithFaults } from '../../src/storage/storage-fault';
import { itFulfilsTheContract, partOf, store, VIDEO, wholeOf } from './storage-contract';

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'videogen-storage-')), 'videos');
  storage = createFileStorage(folder);
});
afterEach(() => rm(dirname(folder), { recursive: true }));

/** Every file below the folder, hidden ones too. */
async function filesThere(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

itFulfilsTheContract(async () => ({
  storage,
  everything: filesThere,
  uriOf: (key) => pathToFileURL(join(folder, key)).href,
  async leaveHalf(key) {
    await partOf(storage, key, VIDEO);
  },
}));

it('a probe leaves nothing in the folder', async () => {
  await Promise.all([storage.probe?.(), storage.probe?.()]);
  expect(await filesThere()).toEqual([]);
});

it('a probe of a folder that is a file says so, with the fix', async () => {
  await writeFile(folder, '');
  const probing = storage.probe?.();
  await expect(probing).rejects.toThrow(StorageUnusable);
  await expect(probing).rejects.toThrow(
    /cannot be used: EEXIST: file already exists, .* Make it a folder that this user can write to, .* or set VIDEOGEN_STORAGE to another folder\.$/,
  );
});

it('an absolute key is refused, and nothing is written', async () => {
  // Beside the folder and not in /etc: if this fails, it does no harm.
  for (const key of [join(dirname(folder), 'x'), `${dirname(folder)}/`]) {
    await expect(storage.publishFile(__filename, key, wholeOf(VIDEO))).rejects.toThrow(StorageFault);
    await expect(storage.write(key, '', 'text/plain')).rejects.toThrow(StorageFault);
  }
  expect(await readdir(dirname(folder))).toEqual([]);
});

it('a key that looks like a part is refused, because the janitor would remove it', async () => {
  const name = newPartName('fox.mp4');
  await expect(store(storage, `a/${name}`, VIDEO)).rejects.toThrow(StorageFault);
  await expect(storage.write(name, '', 'text/plain')).rejects.toThrow(StorageFault);
});

describe('an attempt that is taken for dead', () => {
  it('succeeds when its successor has published the same video and removed its part', async () => {
    const published = await store(storage, 'fox.mp4', VIDEO);
    const { path } = await partOf(storage, 'job-1', VIDEO);
    expect(await storage.publishFile(path, 'fox.mp4', wholeOf(VIDEO))).toEqual(published);
  });
});

it('a file of another disk is published too, whole and with nothing left', async () => {
  const elsewhere = await mkdtemp('/dev/shm/videogen-');
  try {
    const path = join(elsewhere, 'fox');
    for (let times = 0; times < 2; times++) {
      await writeFile(path, VIDEO);
      await storage.publishFile(path, 'a/fox.mp4', wholeOf(VIDEO));
    }
    expect(readFileSync(join(folder, 'a/fox.mp4')).equals(VIDEO)).toBe(true);
    expect(await filesThere()).toEqual(['a/fox.mp4']);
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

describe('nothing is left behind', () => {
  afterEach(async () => {
    expect(await filesThere()).toEqual([]);
  });

  it('when there is a folder with that name', async () => {
    await mkdir(join(folder, 'fox.mp4', 'inside'), { recursive: true });
    await expect(store(storage, 'fox.mp4', VIDEO)).rejects.toThrow('the key "fox.mp4" is taken');
    await expect(storage.write('fox.mp4', 'x', 'text/plain')).rejects.toThrow(StorageFault);
  });

  it('when the name is too long for the file system', async () => {
    const saving = store(storage, `${'x'.repeat(300)}.mp4`, VIDEO);
    await expect(saving).rejects.toThrow(/ENAMETOOLONG/);
    await expect(saving).rejects.toThrow(StorageFault);
  });
});

const PROBE = { location: 'there', fixFor: ({ code }: { code?: string | undefined }) => `Fix ${code}.` };

test('a storage that answers AccessDenied for a missing file is not usable', async () => {
  const read: VideoStorage['read'] = () => Promise.reject(new StorageFault('AccessDenied: Access Denied'));
  await expect(probeStorage({ ...storage, read }, PROBE)).rejects.toThrow('AccessDenied');
});

test.each<[string, (string | undefined)[], string]>([
  ['returns a file before it is stored', ['x'], 'never stored'],
  ['loses what it stores', [undefined, undefined], 'just stored'],
  ['returns another file', [undefined, 'y'], 'just stored'],
])('a storage that %s is not usable', async (_what, answers, problem) => {
  const left = [...answers];
  const read: VideoStorage['read'] = async () => {
    const answer = left.shift();
    return answer === undefined ? undefined : Readable.from([answer]);
  };
  await expect(probeStorage({ ...storage, read }, PROBE)).rejects.toThrow(problem);
  expect(await filesThere()).toEqual([]);
});

test('a storage that does not answer in time is not usable, with the fix', async () => {
  const read: VideoStorage['read'] = () => new Promise(() => undefined);
  await expect(probeStorage({ ...storage, read }, { ...PROBE, limitMs: 5 })).rejects.toMatchObject({
    message: 'The storage there cannot be used: no answer within 0.005 s. Fix undefined.',
  });
});

test('a storage that refuses is not usable, with the fix for its code', async () => {
  const full = new StorageFault('disk 1.5 is full.', { code: 'ENOSPC' });
  const read: VideoStorage['read'] = () => Promise.reject(full);
  await expect(probeStorage({ ...storage, read }, PROBE)).rejects.toMatchObject({
    name: 'StorageUnusable',
    message: 'The storage there cannot be used: disk 1.5 is full. Fix ENOSPC.',
    code: 'ENOSPC',
  });
});

test('the settings choose a folder or a bucket, whose address names it', async () => {
  await createStorage({ kind: 'file', folder }).write('x.txt', 'x', 'text/plain');
  expect(await filesThere()).toEqual(['x.txt']);
  expect(storageAddress({ kind: 'file', folder })).toBe(pathToFileURL(folder).href);
  const bucket = { kind: 's3', bucket: 'foxes', endpoint: 'http://127.0.0.1:1' } as const;
  expect(storageAddress(bucket)).toBe('s3://foxes at http://127.0.0.1:1');
  expect(storageAddress({ ...bucket, endpoint: undefined, prefix: 'red' })).toBe('s3://foxes/red');
  expect(createStorage(bucket).partsFolder).toBeUndefined();
});

test('a stored file that breaks off while it is read is a StorageFault', async () => {
  const source = new Readable({
    read() {
      this.destroy(new Error('EIO: i/o error'));
    },
  });
  const reading = buffer(readWithFaults(source));
  await expect(reading).rejects.toBeInstanceOf(StorageFault);
  await expect(reading).rejects.toThrow('EIO');
});

describe('the janitor', () => {
  const HOUR_MS = 3_600_000;
  const age = (file: string) => utimes(file, new Date(0), new Date(0));
  const partName = () => `.videogen-0123456789abcdef-${randomUUID()}.part`;

  it('removes old parts at any depth and nothing else, however old', async () => {
    const others = [
      'fox.mp4',
      '.hidden',
      '.x.part',
      `x${partName()}`,
      `${partName()}x`,
      '.videogen-0-1.part',
    ];
    const old = [partName(), partName()];
    await mkdir(join(folder, 'a', 'b', partName()), { recursive: true });
    for (const name of [...others, ...old]) {
      await writeFile(join(folder, 'a', 'b', name), '');
      await age(join(folder, 'a', 'b', name));
    }
    const fresh = partName();
    await writeFile(join(folder, fresh), '');
    expect(await storage.sweep?.(HOUR_MS)).toBe(2);
    expect((await filesThere()).sort()).toEqual([fresh, ...others.map((name) => join('a/b', name))].sort());
  });

  it('does not follow links out of the folder, nor remove them', async () => {
    const outside = join(dirname(folder), 'outside');
    const part = join(outside, partName());
    await mkdir(folder);
    await mkdir(outside);
    await writeFile(part, '');
    await age(part);
    await symlink(outside, join(folder, 'inside'));
    await symlink(part, join(folder, partName()));
    expect(await storage.sweep?.(HOUR_MS)).toBe(0);
    expect(existsSync(part)).toBe(true);
  });

  it('does not remove a part that was written to lately', async () => {
    const part = await partOf(storage, 'fox.mp4', VIDEO);
    await age(part.path);
    await part.append(Readable.from([VIDEO]));
    expect(await storage.sweep?.(HOUR_MS)).toBe(0);
  });
});

describe('a storage that cannot be written', () => {
  const publish = async (key: string) => {
    const parts = await mkdtemp(join(tmpdir(), 'videogen-file-'));
    const file = join(parts, 'fox');
    await writeFile(file, VIDEO);
    const publishing = storage.publishFile(file, key, wholeOf(VIDEO));
    return publishing.finally(() => rm(parts, { recursive: true }));
  };
  const refuses = async (key: string, code: string) => {
    for (const attempt of [() => publish(key), () => storage.write(key, 'x', 'text/plain')]) {
      const refusal = attempt();
      await expect(refusal).rejects.toThrow(StorageFault);
      await expect(refusal).rejects.toThrow(code);
    }
  };

  it('because it is a file throws a StorageFault', async () => {
    await writeFile(folder, '');
    await refuses('fox.mp4', 'ENOTDIR');
    await refuses('a/fox.mp4', 'ENOTDIR');
  });

  it('because it is below a file throws a StorageFault', async () => {
    await writeFile(folder, '');
    storage = createFileStorage(join(folder, 'below'));
    await refuses('fox.mp4', 'ENOTDIR');
  });

  it('because a folder of the key is a file throws a StorageFault', async () => {
    await storage.write('a', 'a file', 'text/plain');
    await refuses('a/fox.mp4', 'ENOTDIR');
  });

  it('because it is a circular link throws a StorageFault', async () => {
    await symlink(folder, folder);
    await refuses('a/fox.mp4', 'ELOOP');
    await expect(storage.read('a/fox.mp4')).rejects.toThrow(StorageFault);
  });
});

it('a reader of a file that is replaced still reads the old one', async () => {
  await storage.write('note.txt', 'the old one', 'text/plain');
  const reader = await open(join(folder, 'note.txt'));
  await storage.write('note.txt', 'the new one', 'text/plain');
  expect(await reader.readFile('utf8')).toBe('the old one');
  await reader.close();
});

it('a FIFO in the folder is not a stored file, and reading does not wait for it', async () => {
  await mkdir(folder);
  execFileSync('mkfifo', [join(folder, 'fox.mp4')]);
  await expect(storage.read('fox.mp4')).rejects.toThrow('is not a regular file');
});

it('a link to a file is read, and one that leads nowhere does not make its name free', async () => {
  await storage.write('fox.txt', 'a fox', 'text/plain');
  await symlink(join(folder, 'fox.txt'), join(folder, 'link.txt'));
  await symlink(join(folder, 'nowhere'), join(folder, 'broken.txt'));
  const linked = await storage.read('link.txt');
  expect(linked && String(await buffer(linked))).toBe('a fox');
  await expect(storage.read('broken.txt')).rejects.toThrow('is not a regular file');
});
