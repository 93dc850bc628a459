import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import {
  type FileToPublish,
  PartFile,
  readStoredVideo,
  StorageFault,
  type VideoStorage,
} from '../../src/storage';

/** More than the two parts that an upload to S3 has in flight. */
export const LONG_VIDEO = randomBytes(27_000_017);
/** More than one part of an upload to S3. */
export const VIDEO_IN_PARTS = LONG_VIDEO.subarray(0, 9_000_017);
export const VIDEO = LONG_VIDEO.subarray(0, 3_000_017);

export interface StorageWorld {
  storage: VideoStorage;
  /** The keys of all stored files, and the names of all unfinished ones. */
  everything(): Promise<string[]>;
  uriOf(key: string): string;
  /** Leaves what a killed attempt leaves. */
  leaveHalf(key: string): Promise<void>;
}

export function wholeOf(video: Buffer): FileToPublish {
  const sha256 = createHash('sha256').update(video).digest('hex');
  return { bytes: video.length, sha256, contentType: 'video/mp4' };
}

/** Publishes a file with these bytes, as a download does. */
export async function store(
  storage: VideoStorage,
  key: string,
  video: Buffer,
  { owner = 'job-1', ...change }: Partial<FileToPublish> & { owner?: string } = {},
): Promise<{ uri: string }> {
  const part = await partOf(storage, owner, video);
  try {
    return await storage.publishFile(part.path, key, { ...wholeOf(video), ...change });
  } finally {
    await part.remove().catch(() => undefined);
  }
}

/** A file of a video that is not published. */
export async function partOf(storage: VideoStorage, owner: string, video: Buffer): Promise<PartFile> {
  const part = new PartFile(storage, owner);
  await part.append(Readable.from([video]));
  return part;
}

export async function storedAt(storage: VideoStorage, key: string): Promise<Buffer | undefined> {
  const content = await storage.read(key);
  return content && buffer(content);
}

/** What every storage must do. */
export function itFulfilsTheContract(makeWorld: () => Promise<StorageWorld>): void {
  let storage: VideoStorage;
  let everything: StorageWorld['everything'];
  let uriOf: StorageWorld['uriOf'];
  let leaveHalf: StorageWorld['leaveHalf'];
  beforeEach(async () => {
    ({ storage, everything, uriOf, leaveHalf } = await makeWorld());
  });

  const expectStored = async (key: string, video: Buffer) =>
    expect((await storedAt(storage, key))?.equals(video)).toBe(true);

  describe('a published video', () => {
    it.each([
      ['short', VIDEO],
      ['long', LONG_VIDEO],
    ])('is complete when it is %s', async (_, video) => {
      expect(await store(storage, 'fox.mp4', video)).toEqual({ uri: uriOf('fox.mp4') });
      await expectStored('fox.mp4', video);
      expect(await everything()).toEqual(['fox.mp4']);
    });

    it.each(['a/b/c/fox.mp4', 'a/../fox.mp4', '..fox', 'ein Fuchs?#%41 🦊.mp4'])(
      'is found under the key %j',
      async (key) => {
        const { uri } = await store(storage, key, VIDEO);
        expect(uri).toBe(uriOf(key));
        await expectStored(key, VIDEO);
      },
    );

    it('is not published when bytes are missing or too many, and nothing is left', async () => {
      for (const bytes of [VIDEO.length - 1, VIDEO.length + 1]) {
        const publishing = store(storage, 'fox.mp4', VIDEO, { bytes });
        await expect(publishing).rejects.toThrow(StorageFault);
        await expect(publishing).rejects.toThrow(
          `the file has ${VIDEO.length} bytes, but the video has ${bytes}`,
        );
      }
      expect(await everything()).toEqual([]);
    });
  });

  describe.each([
    ['short', VIDEO],
    ['long', VIDEO_IN_PARTS],
  ])('a key that has a %s video', (_, video) => {
    it('accepts the same video again', async () => {
      const first = await store(storage, 'fox.mp4', video);
      expect(await store(storage, 'fox.mp4', video)).toEqual(first);
      await expectStored('fox.mp4', video);
      expect(await everything()).toEqual(['fox.mp4']);
    });

    it.each([
      ['longer', Buffer.concat([video, Buffer.of(0)])],
      ['of the same length', Buffer.concat([video.subarray(0, -1), Buffer.of((video.at(-1) ?? 0) ^ 1)])],
    ])('refuses another that is %s, and the first one stays', async (_difference, other) => {
      await store(storage, 'a/fox.mp4', video);
      const storing = store(storage, 'a/fox.mp4', other, { owner: 'job-2' });
      await expect(storing).rejects.toThrow(StorageFault);
      await expect(storing).rejects.toThrow(
        'the key "a/fox.mp4" is taken by another file: give the job another key, or move that file away',
      );
      await expectStored('a/fox.mp4', video);
      expect(await everything()).toEqual(['a/fox.mp4']);
    });

    it('has it once when two attempts publish it at the same time', async () => {
      const published = await Promise.all([1, 2].map(() => store(storage, 'fox.mp4', video)));
      expect(published).toMatchObject([{ uri: uriOf('fox.mp4') }, { uri: uriOf('fox.mp4') }]);
      await expectStored('fox.mp4', video);
      expect(await everything()).toEqual(['fox.mp4']);
    });

    it('has one of two videos that are published at the same time, and the other is refused', async () => {
      const videos = [video, Buffer.from(video).reverse()];
      const outcomes = await Promise.allSettled(
        videos.map((each, index) => store(storage, 'fox.mp4', each, { owner: `job-${index}` })),
      );
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const winner = videos[outcomes.findIndex(({ status }) => status === 'fulfilled')];
      await expectStored('fox.mp4', winner ?? Buffer.alloc(0));
      expect(await everything()).toEqual(['fox.mp4']);
    });
  });

  describe('a small file beside the videos', () => {
    it('is written, and replaced', async () => {
      const first = await storage.write('a/fox.json', '{"seed":7} 🦊', 'application/json');
      expect(first).toEqual({ uri: uriOf('a/fox.json') });
      expect(String(await storedAt(storage, 'a/fox.json'))).toBe('{"seed":7} 🦊');
      await storage.write('a/fox.json', Buffer.from('{}'), 'application/json');
      expect(String(await storedAt(storage, 'a/fox.json'))).toBe('{}');
      expect(await everything()).toEqual(['a/fox.json']);
    });
  });

  describe('a small file that is created', () => {
    it('is there, and nothing replaces it', async () => {
      expect(await storage.create('a/0001.json', '{"seed":7} 🦊')).toBe(true);
      expect(await storage.create('a/0001.json', '{}')).toBe(false);
      expect(String(await storedAt(storage, 'a/0001.json'))).toBe('{"seed":7} 🦊');
      expect(await everything()).toEqual(['a/0001.json']);
    });

    it('is one of 20 that are created at once', async () => {
      const contents = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(10_000));
      const created = await Promise.all(contents.map((content) => storage.create('a/0001.json', content)));
      expect(created.filter(Boolean)).toHaveLength(1);
      expect(String(await storedAt(storage, 'a/0001.json'))).toBe(contents[created.indexOf(true)]);
      expect(await everything()).toEqual(['a/0001.json']);
    });
  });

  it('a reader that stops early does no harm', async () => {
    await store(storage, 'fox.mp4', VIDEO_IN_PARTS);
    (await storage.read('fox.mp4'))?.destroy();
    for await (const chunk of (await storage.read('fox.mp4')) ?? []) {
      expect(VIDEO_IN_PARTS.subarray(0, chunk.length).equals(chunk)).toBe(true);
      break;
    }
    await expectStored('fox.mp4', VIDEO_IN_PARTS);
  });

  it.each(['', '.', '..', '../x', 'a/../../x', '../videos-2/x', 'a/..', 'a/', 'a/b/', 'x\0', '\0', '/etc/x'])(
    'the key %j is refused, because it names nothing inside the storage',
    async (key) => {
      for (const attempt of [
        () => store(storage, key, VIDEO),
        () => storage.write(key, 'x', 'text/plain'),
        () => storage.create(key, 'x'),
        async () => text((await storage.read(key)) ?? Readable.from(['nothing there'])),
        async () => storage.removeKey?.(key),
      ]) {
        const trying = attempt();
        await expect(trying).rejects.toThrow(StorageFault);
        await expect(trying).rejects.toThrow(JSON.stringify(key));
      }
      expect(await everything()).toEqual([]);
    },
  );

  describe('what is stored', () => {
    const keysOf = async (prefix: string) => {
      const keys: string[] = [];
      for await (const { key, storedAt } of storage.list?.(prefix) ?? []) {
        keys.push(key);
        expect(Math.abs(Date.now() - storedAt.getTime())).toBeLessThan(600_000);
      }
      return keys;
    };

    it('is listed by the beginning of its key, and nothing else is', async () => {
      const keys = ['jobs/a.1.json', 'jobs/a.2.json', 'jobs/b/2026/x', 'jobs/b/2027/y', 'jobsx', 'c'];
      for (const key of keys) await storage.write(key, key, 'text/plain');
      await leaveHalf('jobs/a.mp4');
      expect(await keysOf('jobs/a.')).toEqual(['jobs/a.1.json', 'jobs/a.2.json']);
      expect(await keysOf('jobs/b/')).toEqual(['jobs/b/2026/x', 'jobs/b/2027/y']);
      expect((await keysOf('')).sort()).toEqual([...keys].sort());
      expect(await keysOf('nothing/here')).toEqual([]);
    });

    it('has the key of its address, by which it is read, and nothing outside has one', async () => {
      const { uri } = await storage.write('a/fox.txt', 'a fox', 'text/plain');
      expect(storage.keyOf?.(uri)).toBe('a/fox.txt');
      const part = await readStoredVideo(storage, uri, { start: 2, end: 4 });
      expect(part && (await text(part))).toBe('fox');
      for (const other of ['file:///etc/passwd', 'file:///%00', 's3://others/x', `${uri}/../../../..`, 'x']) {
        expect([other, storage.keyOf?.(other)]).toEqual([other, undefined]);
        expect(await readStoredVideo(storage, other)).toBeUndefined();
      }
    });

    it('goes alone, and a missing file goes too', async () => {
      await store(storage, 'a/fox.mp4', VIDEO.subarray(0, 100));
      await storage.write('a/fox.mp4.json', '{}', 'application/json');
      await storage.removeKey?.('a/fox.mp4');
      await storage.removeKey?.('a/fox.mp4');
      expect(await everything()).toEqual(['a/fox.mp4.json']);
      await storage.removeKey?.('a/fox.mp4.json');
      // Its folder is gone, and comes again.
      await store(storage, 'a/fox.mp4', VIDEO.subarray(0, 100));
      expect(await everything()).toEqual(['a/fox.mp4']);
    });
  });
}
