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
export const LONG_VIDEO = randomBytes(17_000_017);
/** More than one part of an upload to S3. */
export const VIDEO_IN_PARTS = LONG_VIDEO.subarray(0, 9_000_017);
export const VIDEO = LONG_VIDEO.subarray(0, 300_017);

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

const NO_KEYS = ['', '.', '..', '../x', 'a/../../x', '../videos-2/x', 'a/..', 'a/', 'x\0', '/etc/x'];

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

  it('a long video is published whole', async () => {
    expect(await store(storage, 'fox.mp4', LONG_VIDEO)).toEqual({ uri: uriOf('fox.mp4') });
    await expectStored('fox.mp4', LONG_VIDEO);
    expect(await everything()).toEqual(['fox.mp4']);
  });

  it('a published video is found under its key, whatever characters that has', async () => {
    for (const key of ['a/b/c/fox.mp4', 'a/../fox.mp4', '..fox', 'ein Fuchs?#%41 🦊.mp4']) {
      expect(await store(storage, key, VIDEO)).toEqual({ uri: uriOf(key) });
      await expectStored(key, VIDEO);
    }
  });

  it('a video with missing bytes or too many is not published, and nothing is left', async () => {
    for (const bytes of [VIDEO.length - 1, VIDEO.length + 1]) {
      const publishing = store(storage, 'fox.mp4', VIDEO, { bytes });
      await expect(publishing).rejects.toThrow(StorageFault);
      await expect(publishing).rejects.toThrow(
        `the file has ${VIDEO.length} bytes, but the video has ${bytes}`,
      );
    }
    expect(await everything()).toEqual([]);
  });

  describe.each([
    ['short', VIDEO],
    ['long', VIDEO_IN_PARTS],
  ])('a key that has a %s video', (_, video) => {
    it('accepts the same video again, and refuses any other for good', async () => {
      const first = await store(storage, 'a/fox.mp4', video);
      expect(await store(storage, 'a/fox.mp4', video)).toEqual(first);
      const longer = Buffer.concat([video, Buffer.of(0)]);
      const sameLength = Buffer.concat([video.subarray(0, -1), Buffer.of((video.at(-1) ?? 0) ^ 1)]);
      for (const other of [longer, sameLength])
        await expect(store(storage, 'a/fox.mp4', other, { owner: 'job-2' })).rejects.toMatchObject({
          name: 'StorageFault',
          message:
            'the key "a/fox.mp4" is taken by another file: give the job another key, or move that file away',
          isFinal: true,
        });
      await expectStored('a/fox.mp4', video);
      expect(await everything()).toEqual(['a/fox.mp4']);
    });

    it('has one of the videos that are published at the same time, and those who have another are refused', async () => {
      const videos = [video, video, Buffer.from(video).reverse()];
      const outcomes = await Promise.allSettled(
        videos.map((each, index) => store(storage, 'fox.mp4', each, { owner: `job-${index}` })),
      );
      const winner = videos[outcomes.findIndex(({ status }) => status === 'fulfilled')] ?? Buffer.alloc(0);
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
        videos.map((each) => each.equals(winner)),
      );
      await expectStored('fox.mp4', winner);
      expect(await everything()).toEqual(['fox.mp4']);
    });
  });

  it('a small file beside the videos is written, and replaced', async () => {
    const first = await storage.write('a/fox.json', '{"seed":7} 🦊', 'application/json');
    expect(first).toEqual({ uri: uriOf('a/fox.json') });
    expect(String(await storedAt(storage, 'a/fox.json'))).toBe('{"seed":7} 🦊');
    await storage.write('a/fox.json', Buffer.from('{}'), 'application/json');
    expect(String(await storedAt(storage, 'a/fox.json'))).toBe('{}');
    expect(await everything()).toEqual(['a/fox.json']);
  });

  it('of 20 small files that are created at once under a key one is there, and nothing replaces it', async () => {
    const contents = Array.from({ length: 20 }, (_, index) => `${index} 🦊`.repeat(10_000));
    const created = await Promise.all(contents.map((content) => storage.create('a/0001.json', content)));
    expect(created.filter(Boolean)).toHaveLength(1);
    expect(await storage.create('a/0001.json', '{}')).toBe(false);
    expect(String(await storedAt(storage, 'a/0001.json'))).toBe(contents[created.indexOf(true)]);
    expect(await everything()).toEqual(['a/0001.json']);
  });

  it('a reader that stops early does no harm', async () => {
    await store(storage, 'fox.mp4', VIDEO);
    (await storage.read('fox.mp4'))?.destroy();
    for await (const chunk of (await storage.read('fox.mp4')) ?? []) {
      expect(VIDEO.subarray(0, chunk.length).equals(chunk)).toBe(true);
      break;
    }
    await expectStored('fox.mp4', VIDEO);
  });

  it('a key that names nothing inside the storage is refused by every call', async () => {
    for (const key of NO_KEYS) {
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
    }
    expect(await everything()).toEqual([]);
  });

  it('files are listed by the beginning of their keys, and half a video is not', async () => {
    const keysOf = async (prefix: string) => {
      const found: string[] = [];
      for await (const { key, storedAt } of storage.list?.(prefix) ?? []) {
        found.push(key);
        expect(Math.abs(Date.now() - storedAt.getTime())).toBeLessThan(600_000);
      }
      return found;
    };
    const keys = ['jobs/a.1.json', 'jobs/a.2.json', 'jobs/b/2026/x', 'jobs/b/2027/y', 'jobsx', 'c'];
    for (const key of keys) await storage.write(key, key, 'text/plain');
    await leaveHalf('jobs/a.mp4');
    expect(await keysOf('jobs/a.')).toEqual(['jobs/a.1.json', 'jobs/a.2.json']);
    expect(await keysOf('jobs/b/')).toEqual(['jobs/b/2026/x', 'jobs/b/2027/y']);
    expect((await keysOf('')).sort()).toEqual([...keys].sort());
    expect(await keysOf('nothing/here')).toEqual([]);
  });

  it('a stored file is read by its address, also in part, and nothing outside the storage is', async () => {
    const { uri } = await storage.write('a/fox.txt', 'a fox', 'text/plain');
    expect(storage.keyOf?.(uri)).toBe('a/fox.txt');
    const part = await readStoredVideo(storage, uri, { start: 2, end: 4 });
    expect(part && (await text(part))).toBe('fox');
    for (const other of ['file:///etc/passwd', 'file:///%00', 's3://others/x', `${uri}/../../../..`, 'x']) {
      expect([other, storage.keyOf?.(other)]).toEqual([other, undefined]);
      expect(await readStoredVideo(storage, other)).toBeUndefined();
    }
  });

  it('a file is removed alone, and a missing one is no error', async () => {
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
}
