import { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PartNote, readPartNote, VideoDownload } from '../../../activities/download/video-download';
import type { VideoBody } from '../../../src/service';
import type { IncomingVideo, ReceiveOptions, VideoStorage } from '../../../src/storage';
import { makeVideo } from '../../media/make-video';
import { startAttempt } from '../activity-world';
import { sha256 } from './download-world';
import { inMemory } from './memory-storage';

const MIB = 1024 * 1024;
const VALIDATOR = '"fox"';

let video: Buffer;
beforeAll(async () => {
  video = await makeVideo('MP4 that begins with its tables');
});

let nowMs: number;
beforeEach(() => {
  nowMs = 10_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => jest.restoreAllMocks());

interface Opened {
  incoming?: Partial<IncomingVideo>;
  parts?: Map<string, Buffer> | undefined;
  change?: Partial<VideoStorage>;
  largestBytes?: number;
}

/** A storage that has only the methods that it must have. */
const WITHOUT_PARTS: Opened = { change: { receive: inMemory().receive } };

/** A download into a storage that counts what it receives and what it discards. */
function openDownload({ incoming, parts = new Map(), change, largestBytes = 1e9 }: Opened = {}) {
  const stored = new Map<string, Buffer>();
  const received: [string, ReceiveOptions][] = [];
  const discarded: string[] = [];
  const memory = { ...inMemory({ stored, parts, ...(incoming && { incoming }) }), ...change };
  const storage: VideoStorage = {
    ...memory,
    receive: async (key, options) => {
      received.push([key, options]);
      const opened = await memory.receive(key, options);
      const discard = async () => {
        discarded.push(key);
        await opened.discard();
      };
      return { ...opened, discard };
    },
  };
  const cancelling = new AbortController();
  const download = new VideoDownload({
    storage,
    owner: 'task-1',
    isRetry: true,
    largestBytes,
    signal: cancelling.signal,
    keyFor: (extension) => `fox.${extension}`,
  });
  /** One connection to the server, from its answer to the end of its stream. */
  const connect = async (bytes: Buffer, answer: Partial<VideoBody> = {}) => {
    const stream = streamOf([bytes]);
    const length = { offset: 0, bytes: video.length, validator: VALIDATOR };
    await download.expect({ stream, contentType: 'video/mp4', ...length, ...answer });
    await download.write(stream);
  };
  return {
    download,
    connect,
    stored,
    received,
    discarded,
    cancel: () => cancelling.abort(new Error('stop')),
  };
}

const streamOf = (chunks: Buffer[]) => Readable.from(chunks, { objectMode: false });

/** Confirms what is written to it only when the test says so. */
function heldSink() {
  const waiting: ((error?: Error) => void)[] = [];
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(chunk);
      waiting.push(done);
    },
  });
  const confirm = async (count: number, error?: Error) => {
    for (let left = count; left > 0; left--) waiting.shift()?.(error);
    await nextTurn();
  };
  return { sink, chunks, confirm };
}

const noteOf = (bytes: Buffer): PartNote => ({
  key: 'fox.mp4',
  part: 'fox.mp4.part',
  bytes: bytes.length,
  sha256: sha256(bytes),
  validator: VALIDATOR,
});

describe('a server may resume a download', () => {
  it('after its first byte, from there', async () => {
    const { download, connect } = openDownload();
    await connect(Buffer.alloc(0));
    expect(download.resumePoint).toBeUndefined();
    await connect(video.subarray(0, 10));
    expect(download.resumePoint).toEqual({ offset: 10, validator: VALIDATOR });
  });

  it('only if it has sent a validator', async () => {
    const { download, connect } = openDownload();
    await connect(video.subarray(0, 10), { validator: undefined });
    expect(download.resumePoint).toBeUndefined();
  });
});

describe('the note of a download', () => {
  it('says what the storage has confirmed, and so nothing before it has', async () => {
    const { sink, confirm } = heldSink();
    const { download, connect } = openDownload({ incoming: { sink } });
    expect(download.note).toBeUndefined();
    await connect(video.subarray(0, 5_000));
    expect(download.note).toBeUndefined();
    await confirm(1);
    expect(download.note).toEqual(noteOf(video.subarray(0, 5_000)));
  });

  it('is renewed every second', async () => {
    const { download, connect } = openDownload();
    await connect(video.subarray(0, 5_000));
    const connectLater = async (end: number, afterMs: number) => {
      nowMs += afterMs;
      await connect(video.subarray(download.bytes, end), { offset: download.bytes });
      await nextTurn();
      return download.note?.bytes;
    };
    expect(await connectLater(5_500, 999)).toBe(5_000);
    expect(await connectLater(6_000, 1)).toBe(6_000);
  });

  it.each<[what: string, opened: Opened, validator: string | undefined]>([
    ['the storage cannot leave a part', WITHOUT_PARTS, VALIDATOR],
    ['the server cannot resume', {}, undefined],
  ])('is missing when %s', async (_what, opened, validator) => {
    const { download, connect } = openDownload(opened);
    await connect(video.subarray(0, 5_000), { validator });
    await nextTurn();
    expect(download.note).toBeUndefined();
  });

  it('does not count a write that failed', async () => {
    const { sink, confirm } = heldSink();
    const { download, connect } = openDownload({ incoming: { sink } });
    await connect(video.subarray(0, 5_000));
    await confirm(1, new Error('no room'));
    expect(download.note).toBeUndefined();
  });

  it('does not count what the storage confirms of a file that was given up', async () => {
    const sinks = [heldSink(), heldSink()];
    let files = 0;
    const change: Partial<VideoStorage> = {
      receive: async (...given) => ({
        ...(await inMemory({ parts: new Map() }).receive(...given)),
        sink: sinks[files++]?.sink ?? new Writable(),
      }),
    };
    const { download, connect } = openDownload({ change });
    await connect(video.subarray(0, 5_000));
    nowMs += 1_000;
    await connect(video.subarray(0, 6_000));
    await sinks[0]?.confirm(1);
    expect(download.note).toBeUndefined();
    await sinks[1]?.confirm(1);
    expect(download.note).toEqual(noteOf(video.subarray(0, 6_000)));
  });
});

describe('a download that continues an earlier attempt', () => {
  const partOf = (bytes: Buffer) => ({ parts: new Map([['fox.mp4.part', bytes]]) });

  it('takes as many bytes of its part as it noted', async () => {
    const { sink, chunks, confirm } = heldSink();
    const chunksLeft = [video.subarray(0, 4_500), video.subarray(4_500, 5_500), video.subarray(5_500)];
    const change = { readPart: async () => streamOf(chunksLeft) };
    const { download } = openDownload({ incoming: { sink }, change });
    await download.resumeFrom(noteOf(video.subarray(0, 5_000)));
    expect(download.resumePoint).toEqual({ offset: 5_000, validator: VALIDATOR });
    await confirm(1);
    await confirm(1);
    expect(chunks.map(({ length }) => length)).toEqual([4_500, 500]);
  });

  it.each<[what: string, part: () => Buffer, note: () => PartNote]>([
    ['is shorter', () => video.subarray(0, 4_999), () => noteOf(video.subarray(0, 5_000))],
    [
      'is shorter, and its digest is noted',
      () => video.subarray(0, 4_999),
      () => ({
        ...noteOf(video.subarray(0, 4_999)),
        bytes: 5_000,
      }),
    ],
    [
      'has other bytes',
      () => Buffer.concat([video.subarray(0, 4_990), Buffer.alloc(10)]),
      () => noteOf(video.subarray(0, 5_000)),
    ],
  ])('starts over when the part %s', async (_what, part, note) => {
    const { download, discarded } = openDownload(partOf(part()));
    await download.resumeFrom(note());
    expect([download.bytes, download.resumePoint]).toEqual([0, undefined]);
    expect(discarded).toEqual(['fox.mp4']);
  });

  it.each<[what: string, change: Partial<VideoStorage>]>([
    ['has no such part', { readPart: async () => undefined }],
    ['cannot read parts', { readPart: undefined } as never],
  ])('starts over when the storage %s', async (_what, change) => {
    const { download } = openDownload({ change });
    await download.resumeFrom(noteOf(video.subarray(0, 5_000)));
    expect([download.bytes, download.resumePoint]).toEqual([0, undefined]);
  });
});

describe('a download that is connected again', () => {
  it('starts over when the server does, and discards what it had', async () => {
    const { download, connect, discarded, stored } = openDownload();
    await connect(video.subarray(0, 5_000));
    await connect(video);
    expect(discarded).toEqual(['fox.mp4']);
    await download.publish();
    expect(stored.get('fox.mp4')?.equals(video)).toBe(true);
  });

  it('starts over without a fault when a new video is sent from its start', async () => {
    const { download, connect } = openDownload();
    await connect(video.subarray(0, 5_000), { bytes: 6_000 });
    await connect(video);
    expect(download).toMatchObject({ bytes: video.length, of: video.length });
  });

  it('is cut when the rest is that of a longer video', async () => {
    const { download, connect, discarded } = openDownload();
    await connect(video.subarray(0, 5_000));
    const again = connect(video.subarray(5_000), { offset: 5_000, bytes: video.length + 1 });
    await expect(again).rejects.toMatchObject({
      kind: 'cut',
      facts: { message: 'the length of the video has changed' },
    });
    expect([download.bytes, download.of, discarded]).toEqual([0, undefined, ['fox.mp4']]);
  });

  it.each<[when: string, first: boolean, then: boolean]>([
    ['no more', true, false],
    ['only now', false, true],
  ])('goes on when the server states the length %s', async (_when, first, then) => {
    const { download, connect } = openDownload();
    const length = (isStated: boolean) => (isStated ? video.length : undefined);
    await connect(video.subarray(0, 5_000), { bytes: length(first) });
    await connect(video.subarray(5_000), { offset: 5_000, bytes: length(then) });
    expect([download.bytes, download.of]).toEqual([video.length, length(then)]);
  });
});

describe('a video that is too large', () => {
  it('is refused by the length that the server states', async () => {
    const { connect, received } = openDownload({ largestBytes: video.length - 1 });
    await expect(connect(Buffer.alloc(0))).rejects.toThrow(`it has more than ${video.length - 1} bytes`);
    expect(received).toEqual([]);
  });

  it('has more bytes than the largest one', async () => {
    const { download, connect, stored } = openDownload({ largestBytes: video.length });
    await connect(video);
    await download.publish();
    expect(stored.get('fox.mp4')).toHaveLength(video.length);
  });
});

describe('a published video', () => {
  const publishOf = async (bytes: Buffer, length: number | undefined) => {
    const { download, connect } = openDownload();
    await connect(bytes, { bytes: length });
    return (await download.publish()).doubts;
  };

  it('is doubted if neither the server nor the file says where it ends', async () => {
    const fragments = await makeVideo('MP4 of fragments');
    const endless = fragments.subarray(0, fragments.indexOf('mfra') - 4);
    expect(await publishOf(endless, undefined)).toEqual([
      expect.stringContaining('the server sent no length'),
    ]);
    expect(await publishOf(endless, endless.length)).toEqual([]);
    expect(await publishOf(video, undefined)).toEqual([]);
  });
});

describe('a download that ends early', () => {
  it('leaves a part, with a note of all its bytes', async () => {
    const parts = new Map<string, Buffer>();
    const { download, connect } = openDownload({ parts });
    await connect(video.subarray(0, 5_000));
    expect(await download.leave()).toEqual(noteOf(video.subarray(0, 5_000)));
    expect(parts.get('fox.mp4.part')?.equals(video.subarray(0, 5_000))).toBe(true);
  });

  it.each<[what: string, opened: Opened, validator: string | undefined]>([
    ['cannot leave a part', WITHOUT_PARTS, VALIDATOR],
    ['need not, as the server cannot resume', {}, undefined],
  ])('is discarded by a storage that %s', async (_what, opened, validator) => {
    const parts = new Map<string, Buffer>();
    const { download, connect, discarded } = openDownload({ parts, ...opened });
    await connect(video.subarray(0, 5_000), { validator });
    expect(await download.leave()).toBeUndefined();
    expect([discarded, parts.size]).toEqual([['fox.mp4'], 0]);
  });

  it('leaves nothing before the storage receives it', async () => {
    const { download, connect } = openDownload();
    await connect(video.subarray(0, 10));
    expect(await download.leave()).toBeUndefined();
  });

  it('is set aside whole by a storage that can', async () => {
    const setAside = async (key: string) => ({ uri: `aside:${key}` });
    const { download, connect, stored } = openDownload({ incoming: { setAside } });
    await connect(video.subarray(0, 5_000));
    expect(await download.setAside()).toBe('aside:fox.mp4.bad');
    expect(stored.size).toBe(0);
  });
});

describe('the storage', () => {
  it('receives a video as soon as 4096 bytes show what it is, and is told whose it is', async () => {
    const { connect, received } = openDownload();
    await connect(video.subarray(0, 4_095));
    expect(received).toEqual([]);
    await connect(video.subarray(4_095, 4_096), { offset: 4_095 });
    expect(received).toEqual([['fox.mp4', { owner: 'task-1', contentType: 'video/mp4', isRetry: true }]]);
  });

  /** A video of 12 MiB, a MiB at a time. */
  const writeSlowly = (download: VideoDownload) => {
    const rest = Buffer.alloc(MIB);
    return download.write(streamOf([Buffer.concat([video, rest]).subarray(0, MIB), ...Array(11).fill(rest)]));
  };

  it('may be 8 MiB behind; then the server waits until it is only 4', async () => {
    const { sink, confirm } = heldSink();
    const { download } = openDownload({ incoming: { sink } });
    expect(download.waitsForStorage).toBe(false);
    const writing = writeSlowly(download);
    const progress = async (confirmed: number) => {
      await confirm(confirmed);
      await nextTurn();
      return [download.bytes / MIB, download.waitsForStorage];
    };
    while (!download.waitsForStorage) await nextTurn();
    expect(await progress(0)).toEqual([8, true]);
    expect(await progress(3)).toEqual([8, true]);
    expect(await progress(1)).toEqual([12, true]);
    expect(await progress(4)).toEqual([12, false]);
    await writing;
  });

  it.each<[what: string, fail: (opened: { sink: Writable; cancel: () => void }) => void, message: string]>([
    ['breaks', ({ sink }) => sink.destroy(new Error('no room')), 'no room'],
    ['closes', ({ sink }) => sink.destroy(), 'the storage closed the file'],
    ['waits for a download that is cancelled', ({ cancel }) => cancel(), 'stop'],
  ])('ends the wait when it %s', async (_what, fail, message) => {
    const { sink } = heldSink();
    const { download, cancel } = openDownload({ incoming: { sink } });
    const writing = writeSlowly(download);
    while (!download.waitsForStorage) await nextTurn();
    fail({ sink, cancel });
    await expect(writing).rejects.toThrow(message);
  });
});

describe('the note of an earlier attempt', () => {
  const read = (heartbeatDetails: unknown) =>
    startAttempt(async () => readPartNote(), undefined, { heartbeatDetails }).result;
  const note = { ...noteOf(Buffer.alloc(0)), bytes: 5 };

  it('is read from its last heartbeat', async () => {
    expect(await read({ ...note, more: 1 })).toEqual(note);
  });

  it.each(Object.keys(note))('is none without its %s', async (field) => {
    expect(await read({ ...note, [field]: undefined })).toBeUndefined();
    expect(await read(undefined)).toBeUndefined();
  });
});
