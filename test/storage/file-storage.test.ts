import { createHash, randomBytes } from 'node:crypto';
import { existsSync, type PathLike, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { HashingFile } from '../../src/storage/hashing-file';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const VIDEO = randomBytes(3_000_017);

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'videogen-storage-')), 'videos');
  storage = createFileStorage(folder);
});
afterEach(() => rm(dirname(folder), { recursive: true }));

function inChunks(bytes: Buffer, size: number): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
  );
}

/** A source that gives what it has and then waits until it is ended, broken or cut off. */
function halfDelivered(bytes = VIDEO.subarray(0, 100_000)): PassThrough {
  const source = new PassThrough();
  source.write(bytes);
  return source;
}

/** Every file below a folder, hidden ones too. */
async function filesIn(place: PathLike): Promise<string[]> {
  const entries = await readdir(place, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

describe('a saved video', () => {
  it.each([1_000, 4_096, 65_536, 1_048_576, 5_000_000])(
    'is whole, with its length and SHA-256, when it came in chunks of %d bytes',
    async (size) => {
      const saved = await storage.save('fox.mp4', inChunks(VIDEO, size));
      const file = join(folder, 'fox.mp4');
      expect(saved).toEqual({ uri: pathToFileURL(file).href, bytes: VIDEO.length, sha256: sha256(VIDEO) });
      expect(readFileSync(file).equals(VIDEO)).toBe(true);
      expect(await filesIn(folder)).toEqual(['fox.mp4']);
    },
  );

  it('is whole when it came byte by byte, with empty chunks between', async () => {
    const bytes = VIDEO.subarray(0, 5_000);
    const chunks = Array.from(bytes, (byte) => [Buffer.of(byte), Buffer.alloc(0)]).flat();
    const saved = await storage.save('fox.mp4', Readable.from(chunks));
    expect(saved).toMatchObject({ bytes: 5_000, sha256: sha256(bytes) });
    expect(readFileSync(join(folder, 'fox.mp4')).equals(bytes)).toBe(true);
  });

  it('may be empty: whether that is a video is for `accept` to say', async () => {
    const saved = await storage.save('none.mp4', Readable.from([]));
    expect(saved).toMatchObject({ bytes: 0, sha256: sha256(Buffer.alloc(0)) });
    expect(readFileSync(join(folder, 'none.mp4'))).toHaveLength(0);
  });

  it.each([
    'a/b/c/fox.mp4',
    'a//fox.mp4',
    './fox.mp4',
    'a/../fox.mp4',
    '..fox',
    '...',
    'ein Fuchs?#%41 🦊.mp4',
  ])('is found at its URI under the key %j', async (key) => {
    const { uri } = await storage.save(key, Readable.from([VIDEO]));
    expect(fileURLToPath(uri)).toBe(join(folder, key));
    expect(readFileSync(new URL(uri)).equals(VIDEO)).toBe(true);
  });

  it('replaces the one before it in one step, and whoever reads that one reads on', async () => {
    await storage.save('fox.mp4', Readable.from(['the old one']));
    const reader = await open(join(folder, 'fox.mp4'));
    const source = halfDelivered(Buffer.from('the new '));
    let seenMeanwhile: string | undefined;
    const onBytes = () => {
      if (seenMeanwhile !== undefined) return;
      seenMeanwhile = readFileSync(join(folder, 'fox.mp4'), 'utf8');
      source.end('one');
    };
    await storage.save('fox.mp4', source, { onBytes });
    expect(seenMeanwhile).toBe('the old one');
    expect(readFileSync(join(folder, 'fox.mp4'), 'utf8')).toBe('the new one');
    expect(await reader.readFile('utf8')).toBe('the old one');
    await reader.close();
  });

  it('is one of the two when two are saved under one key at once', async () => {
    const videos = [VIDEO, randomBytes(2_000_003)];
    await Promise.all(videos.map((video) => storage.save('fox.mp4', inChunks(video, 10_000))));
    const stored = readFileSync(join(folder, 'fox.mp4'));
    expect(videos.some((video) => video.equals(stored))).toBe(true);
    expect(await filesIn(folder)).toEqual(['fox.mp4']);
  });

  it('is told of while it grows, up to its length', async () => {
    const told: number[] = [];
    await storage.save('fox.mp4', inChunks(VIDEO, 100_000), { onBytes: (bytes) => told.push(bytes) });
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.at(-1)).toBe(VIDEO.length);
  });

  it('is shown to `accept` before anybody can see it', async () => {
    const accept = jest.fn(() => expect(existsSync(join(folder, 'fox.mp4'))).toBe(false));
    await storage.save('fox.mp4', Readable.from([VIDEO]), { accept });
    expect(accept).toHaveBeenCalledWith({ bytes: VIDEO.length, sha256: sha256(VIDEO) });
  });
});

describe('a key that names no file inside the folder', () => {
  it.each(['', '.', '..', '../x', 'a/../../x', '../videos-2/x', 'a/..', 'a/', 'a/b/', 'x\0', '\0'])(
    '%j is refused, and nothing is written',
    (key) => expectRefused(key),
  );

  it('is refused when it is absolute, and nothing is written', async () => {
    // Beside the folder and not in /etc: the day this fails, it fails without harm.
    await expectRefused(join(dirname(folder), 'x'));
    await expectRefused(`${dirname(folder)}/`);
  });

  async function expectRefused(key: string): Promise<void> {
    const source = Readable.from([VIDEO]);
    const saving = storage.save(key, source);
    await expect(saving).rejects.toThrow(StorageFault);
    await expect(saving).rejects.toThrow(JSON.stringify(key));
    expect(await readdir(dirname(folder))).toEqual([]);
    expect(source.destroyed).toBe(true);
  }
});

describe('nothing is left behind', () => {
  afterEach(async () => {
    expect(await filesIn(folder)).toEqual([]);
  });

  it('when `accept` refuses what came', async () => {
    const refusal = new Error('not a video');
    const accept = () => {
      throw refusal;
    };
    await expect(storage.save('a/fox.mp4', Readable.from([VIDEO]), { accept })).rejects.toBe(refusal);
  });

  it('when the source breaks half-way, and its own error is told', async () => {
    const source = halfDelivered();
    const cut = new Error('other side closed');
    const onBytes = () => source.destroy(cut);
    await expect(storage.save('a/fox.mp4', source, { onBytes })).rejects.toBe(cut);
  });

  it('when the source ends without having ended', async () => {
    const source = halfDelivered();
    const onBytes = () => source.destroy();
    await expect(storage.save('fox.mp4', source, { onBytes })).rejects.toThrow('Premature close');
  });

  it('when the source breaks before the first byte is asked for', async () => {
    const source = new PassThrough();
    const cut = new Error('other side closed');
    const saving = storage.save('fox.mp4', source);
    source.destroy(cut);
    await expect(saving).rejects.toBe(cut);
  });

  it('when it is aborted half-way, and the source is let go', async () => {
    const source = halfDelivered();
    const abort = new AbortController();
    const onBytes = () => abort.abort();
    const saving = storage.save('a/fox.mp4', source, { signal: abort.signal, onBytes });
    await expect(saving).rejects.toMatchObject({ name: 'AbortError' });
    expect(source.destroyed).toBe(true);
  });

  it('when it was aborted before it began', async () => {
    const source = halfDelivered();
    const saving = storage.save('fox.mp4', source, { signal: AbortSignal.abort() });
    await expect(saving).rejects.toMatchObject({ name: 'AbortError' });
    expect(source.destroyed).toBe(true);
  });

  it('when the place is a folder already', async () => {
    await mkdir(join(folder, 'fox.mp4', 'inside'), { recursive: true });
    await expect(storage.save('fox.mp4', Readable.from([VIDEO]))).rejects.toThrow(StorageFault);
  });

  it('when the name is too long for the file system', async () => {
    const saving = storage.save(`${'x'.repeat(300)}.mp4`, Readable.from([VIDEO]));
    await expect(saving).rejects.toThrow(/ENAMETOOLONG/);
    await expect(saving).rejects.toThrow(StorageFault);
  });
});

it('a video that fails leaves the one before it as it was', async () => {
  await storage.save('fox.mp4', Readable.from(['the old one']));
  const source = halfDelivered();
  const onBytes = () => source.destroy(new Error('cut'));
  await expect(storage.save('fox.mp4', source, { onBytes })).rejects.toThrow('cut');
  expect(readFileSync(join(folder, 'fox.mp4'), 'utf8')).toBe('the old one');
  expect(await filesIn(folder)).toEqual(['fox.mp4']);
});

describe('a storage that cannot be written', () => {
  const refuses = async (key: string, code: string) => {
    const source = halfDelivered();
    const saving = storage.save(key, source);
    await expect(saving).rejects.toThrow(StorageFault);
    await expect(saving).rejects.toThrow(code);
    // Nobody reads on, and a connection would stay open behind it.
    expect(source.destroyed).toBe(true);
  };

  it('because it is a file is told as a fault of the storage', async () => {
    await writeFile(folder, '');
    await refuses('fox.mp4', 'EEXIST');
    await refuses('a/fox.mp4', 'ENOTDIR');
  });

  it('because it lies below a file is told as a fault of the storage', async () => {
    await writeFile(folder, '');
    storage = createFileStorage(join(folder, 'below'));
    await refuses('fox.mp4', 'ENOTDIR');
  });

  it('because a part of the key is a file is told as a fault of the storage', async () => {
    await storage.save('a', Readable.from(['a file']));
    await refuses('a/fox.mp4', 'EEXIST');
  });

  it('because it leads in a circle is told as a fault of the storage', async () => {
    await symlink(folder, folder);
    await refuses('a/fox.mp4', 'ELOOP');
  });
});

describe('a file that is written and hashed in one pass', () => {
  it('is a fault of the storage when the system refuses a write', async () => {
    const readOnly = await open(__filename, 'r');
    try {
      const sink = new HashingFile(readOnly);
      const failed = new Promise((resolve) => sink.once('error', resolve));
      sink.end(VIDEO);
      const error = await failed;
      expect(error).toBeInstanceOf(StorageFault);
      expect(String(error)).toContain('EBADF');
    } finally {
      await readOnly.close();
    }
  });

  it('is whole when the system takes only a part of each write', async () => {
    const written: Buffer[] = [];
    const slow = {
      async writev<Views extends readonly NodeJS.ArrayBufferView[]>(buffers: Views) {
        const all = Buffer.concat(
          buffers.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
        );
        const taken = Buffer.from(all.subarray(0, 777));
        written.push(taken);
        return { bytesWritten: taken.length, buffers };
      },
    };
    const sink = new HashingFile(slow);
    const bytes = VIDEO.subarray(0, 100_001);
    for (let at = 0; at < bytes.length; at += 1_000) sink.write(bytes.subarray(at, at + 1_000));
    await new Promise<void>((resolve) => sink.end(resolve));
    expect(Buffer.concat(written).equals(bytes)).toBe(true);
    expect(sink.written()).toEqual({ bytes: bytes.length, sha256: sha256(bytes) });
  });
});
