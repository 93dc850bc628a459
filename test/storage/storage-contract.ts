import { createHash, randomBytes } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import {
  type IncomingVideo,
  type PublishedVideo,
  StorageFault,
  type VideoStorage,
  type WholeVideo,
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
  /** Leaves what a killed attempt of the owner of `MP4` leaves. */
  leaveHalf(key: string): Promise<void>;
}

export function wholeOf(video: Buffer): WholeVideo {
  return { bytes: video.length, sha256: createHash('sha256').update(video).digest('hex') };
}

export function inChunks(bytes: Buffer, size: number): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
  );
}

export const MP4 = { contentType: 'video/mp4', owner: 'job-1' };

export function feed(incoming: IncomingVideo, source: Readable, signal?: AbortSignal): Promise<void> {
  return pipeline(source, incoming.sink, { end: false, signal });
}

/** Receives a whole video and publishes it. */
export async function store(
  storage: VideoStorage,
  key: string,
  video: Buffer,
  { owner = MP4.owner, isRetry = false, source = Readable.from([video]) } = {},
): Promise<PublishedVideo> {
  const incoming = await storage.receive(key, { ...MP4, owner, isRetry });
  await feed(incoming, source);
  return incoming.publish(wholeOf(video));
}

export async function storedAt(storage: VideoStorage, key: string): Promise<Buffer | undefined> {
  const content = await storage.read(key);
  return content && buffer(content);
}

/** Writes until the sink has taken the bytes, like a source that then sends nothing more. */
export async function feedSome(incoming: IncomingVideo, bytes: Buffer): Promise<PassThrough> {
  const source = new PassThrough();
  feed(incoming, source).catch(() => undefined);
  for (let at = 0; at < bytes.length; at += 1_000_000) {
    const chunk = bytes.subarray(at, at + 1_000_000);
    await new Promise<void>((resolve) => source.write(chunk, () => resolve()));
  }
  return source;
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
    it.each([1_000, 65_536, 5_000_000])('is complete when it came in chunks of %d bytes', async (size) => {
      const stored = await store(storage, 'fox.mp4', VIDEO, { source: inChunks(VIDEO, size) });
      expect(stored).toEqual({ uri: uriOf('fox.mp4') });
      await expectStored('fox.mp4', VIDEO);
      expect(await everything()).toEqual(['fox.mp4']);
    });

    it('is complete when it is long', async () => {
      await store(storage, 'fox.mp4', LONG_VIDEO, { source: inChunks(LONG_VIDEO, 100_000) });
      await expectStored('fox.mp4', LONG_VIDEO);
      expect(await everything()).toEqual(['fox.mp4']);
    });

    it('is complete when it came byte by byte, with empty chunks between', async () => {
      const bytes = VIDEO.subarray(0, 5_000);
      const chunks = Array.from(bytes, (byte) => [Buffer.of(byte), Buffer.alloc(0)]).flat();
      await store(storage, 'fox.mp4', bytes, { source: Readable.from(chunks) });
      await expectStored('fox.mp4', bytes);
    });

    it('may be empty: the storage does not judge that', async () => {
      await store(storage, 'none.mp4', Buffer.alloc(0), { source: Readable.from([]) });
      await expectStored('none.mp4', Buffer.alloc(0));
    });

    it.each([
      'a/b/c/fox.mp4',
      'a//fox.mp4',
      './fox.mp4',
      'a/../fox.mp4',
      '..fox',
      '...',
      'ein Fuchs?#%41 🦊.mp4',
    ])('is found under the key %j', async (key) => {
      const { uri } = await store(storage, key, VIDEO);
      expect(uri).toBe(uriOf(key));
      await expectStored(key, VIDEO);
    });

    it('cannot be read before it is published', async () => {
      const incoming = await storage.receive('fox.mp4', MP4);
      await feed(incoming, inChunks(VIDEO_IN_PARTS, 100_000));
      expect(await storage.read('fox.mp4')).toBeUndefined();
      await incoming.publish(wholeOf(VIDEO_IN_PARTS));
      await expectStored('fox.mp4', VIDEO_IN_PARTS);
    });

    it('is not published when bytes are missing or too many, and nothing is left', async () => {
      for (const bytes of [VIDEO.length - 1, VIDEO.length + 1]) {
        const incoming = await storage.receive('fox.mp4', MP4);
        await feed(incoming, inChunks(VIDEO, 100_000));
        const publishing = incoming.publish({ ...wholeOf(VIDEO), bytes });
        await expect(publishing).rejects.toThrow(StorageFault);
        await expect(publishing).rejects.toThrow(
          `the storage received ${VIDEO.length} bytes of a video of ${bytes} bytes`,
        );
      }
      expect(await everything()).toEqual([]);
    });
  });

  describe.each([
    ['tiny', VIDEO.subarray(0, 500_000)],
    ['short', VIDEO],
    ['long', VIDEO_IN_PARTS],
  ])('a key that has a %s video', (_, video) => {
    it('accepts the same video again', async () => {
      const first = await store(storage, 'fox.mp4', video);
      expect(await store(storage, 'fox.mp4', video, { isRetry: true })).toEqual({ ...first, wasThere: true });
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

    it.each([
      ['one owner', ['job-1', 'job-1']],
      ['two owners', ['job-1', 'job-2']],
    ])('has it once when attempts of %s publish it at the same time', async (_owners, owners) => {
      const all = await Promise.all(owners.map((owner) => storage.receive('fox.mp4', { ...MP4, owner })));
      await Promise.all(all.map((incoming) => feed(incoming, inChunks(video, 100_000))));
      const published = await Promise.all(all.map((incoming) => incoming.publish(wholeOf(video))));
      expect(published).toMatchObject(owners.map(() => ({ uri: uriOf('fox.mp4') })));
      // The answer to an upload may be lost, so both may believe that it was there.
      expect(published.some(({ wasThere }) => wasThere)).toBe(true);
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

  describe('nothing is left behind', () => {
    afterEach(async () => {
      expect(await everything()).toEqual([]);
    });

    it('when a video is discarded before its first byte', async () => {
      const incoming = await storage.receive('a/fox.mp4', MP4);
      await incoming.discard();
    });

    it.each([100_000, 9_000_000])('when it is discarded after %d bytes', async (bytes) => {
      const incoming = await storage.receive('a/fox.mp4', MP4);
      await feedSome(incoming, LONG_VIDEO.subarray(0, bytes));
      await incoming.discard();
    });

    it('when it is discarded while bytes are still coming', async () => {
      const incoming = await storage.receive('a/fox.mp4', MP4);
      const feeding = feed(incoming, inChunks(LONG_VIDEO, 10_000));
      const fed = expect(feeding).rejects.toThrow();
      await incoming.discard();
      await fed;
    });

    it('when its source is aborted half-way', async () => {
      const abort = new AbortController();
      const incoming = await storage.receive('a/fox.mp4', MP4);
      const source = new PassThrough();
      const feeding = feed(incoming, source, abort.signal);
      source.write(LONG_VIDEO.subarray(0, 20_000_000), () => abort.abort());
      await expect(feeding).rejects.toMatchObject({ name: 'AbortError' });
      await incoming.discard();
    });

    it.each([
      ['without an error', undefined],
      ['with an error', new Error('other side closed')],
    ])('when the sink is destroyed %s, which does not end the process', async (_, error) => {
      const incoming = await storage.receive('a/fox.mp4', MP4);
      incoming.sink.write(LONG_VIDEO.subarray(0, 20_000_000));
      incoming.sink.destroy(error);
      // The error is emitted before publish is called.
      await new Promise((resolve) => setImmediate(resolve));
      await expect(incoming.publish(wholeOf(LONG_VIDEO))).rejects.toThrow(StorageFault);
    });
  });

  it('discarding a video leaves the stored one unchanged', async () => {
    await store(storage, 'fox.mp4', VIDEO);
    const incoming = await storage.receive('fox.mp4', { ...MP4, owner: 'job-2' });
    await feedSome(incoming, LONG_VIDEO.subarray(0, 10_000_000));
    await incoming.discard();
    await expectStored('fox.mp4', VIDEO);
    expect(await everything()).toEqual(['fox.mp4']);
  });

  describe('a part that a killed attempt has left', () => {
    beforeEach(async () => {
      await leaveHalf('a/fox.mp4');
      expect(await everything()).toHaveLength(1);
    });

    it('is removed when the next attempt has published', async () => {
      await store(storage, 'a/fox.mp4', VIDEO_IN_PARTS, { isRetry: true });
      expect(await everything()).toEqual(['a/fox.mp4']);
    });

    it('is removed when the next attempt is discarded', async () => {
      const next = await storage.receive('a/fox.mp4', { ...MP4, isRetry: true });
      await feedSome(next, VIDEO);
      await next.discard();
      expect(await everything()).toEqual([]);
    });

    it('stays when a video with another key comes, even a similar one', async () => {
      const [left] = await everything();
      for (const key of ['a/fox.mp4.json', 'a/fox.mp', 'a/fox']) {
        await store(storage, key, VIDEO, { isRetry: true });
      }
      expect(await everything()).toContain(left);
    });

    it('is swept when it is old enough, and nothing else is', async () => {
      await store(storage, 'b.mp4', VIDEO);
      expect(await storage.sweep?.(3_600_000)).toBe(0);
      expect(await everything()).toHaveLength(2);
      // A server may only report whole seconds.
      await eventually(async () => expect(await storage.sweep?.(-1_000)).toBe(1));
      expect(await everything()).toEqual(['b.mp4']);
      expect(await storage.sweep?.(-1_000)).toBe(0);
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

    it('is one of two that are written at the same time', async () => {
      const contents = ['a'.repeat(100_000), 'b'.repeat(100_000)];
      await Promise.all(contents.map((content) => storage.write('note.txt', content, 'text/plain')));
      expect(contents).toContain(String(await storedAt(storage, 'note.txt')));
      expect(await everything()).toEqual(['note.txt']);
    });
  });

  it('nothing is read under a free key', async () => {
    expect(await storage.read('fox.mp4')).toBeUndefined();
    expect(await storage.read('a/b/fox.mp4')).toBeUndefined();
    await store(storage, 'a/fox.mp4', VIDEO);
    expect(await storage.read('a')).toBeUndefined();
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

  it('sweeping an empty storage removes nothing', async () => {
    expect(await storage.sweep?.(0)).toBe(0);
  });

  it.each(['', '.', '..', '../x', 'a/../../x', '../videos-2/x', 'a/..', 'a/', 'a/b/', 'x\0', '\0', '/etc/x'])(
    'the key %j is refused, because it names nothing inside the storage',
    async (key) => {
      for (const attempt of [
        () => storage.receive(key, MP4),
        () => storage.write(key, 'x', 'text/plain'),
        async () => text((await storage.read(key)) ?? Readable.from(['nothing there'])),
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

    it('has the key of its address, and nothing outside has one', () => {
      expect(storage.keyOf?.(uriOf('a/fox.mp4'))).toBe('a/fox.mp4');
      for (const uri of ['file:///etc/passwd', 's3://others/fox.mp4', `${uriOf('x')}/../../..`, 'fox.mp4'])
        expect([uri, storage.keyOf?.(uri)]).toEqual([uri, undefined]);
    });

    it('says since when it is there, goes alone, and a missing file goes too', async () => {
      expect(await storage.storedAt?.('a/fox.mp4')).toBeUndefined();
      await store(storage, 'a/fox.mp4', VIDEO.subarray(0, 100));
      await storage.write('a/fox.mp4.json', '{}', 'application/json');
      const ageMs = Date.now() - Number(await storage.storedAt?.('a/fox.mp4'));
      expect(Math.abs(ageMs)).toBeLessThan(60_000);
      await storage.removeKey?.('a/fox.mp4');
      await storage.removeKey?.('a/fox.mp4');
      expect(await everything()).toEqual(['a/fox.mp4.json']);
      await storage.removeKey?.('a/fox.mp4.json');
      // Its folder is gone, and comes again.
      await store(storage, 'a/fox.mp4', VIDEO.subarray(0, 100));
      expect(await everything()).toEqual(['a/fox.mp4']);
    });

    it('is left alone when the unfinished downloads of its owner are removed', async () => {
      await store(storage, 'fox.mp4', VIDEO.subarray(0, 100));
      await leaveHalf('owl.mp4');
      expect(await storage.removeParts?.('fox.mp4', MP4.owner)).toBe(0);
      expect(await storage.removeParts?.('owl.mp4', MP4.owner)).toBe(1);
      expect(await everything()).toEqual(['fox.mp4']);
    });
  });
}

async function eventually(check: () => Promise<void>): Promise<void> {
  const givenUpAt = Date.now() + 20_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > givenUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
