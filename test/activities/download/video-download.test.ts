import type { PartNote } from '../../../activities/download/video-download';
import type { VideoStorage } from '../../../src/storage';
import { makeVideo } from '../../media/make-video';
import { inspectedVideo } from './memory-world';
import {
  heldSink,
  noteOf,
  type Opened,
  openDownload,
  streamOf,
  VALIDATOR,
  WITHOUT_PARTS,
} from './open-download';

let video: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
});

describe('a server may resume a download', () => {
  it('after its first byte, from there', async () => {
    const { download, connect } = openDownload(video);
    await connect(Buffer.alloc(0));
    expect(download.resumePoint).toBeUndefined();
    await connect(video.subarray(0, 10));
    expect(download.resumePoint).toEqual({ offset: 10, validator: VALIDATOR });
  });

  it('only if it has sent a validator', async () => {
    const { download, connect } = openDownload(video);
    await connect(video.subarray(0, 10), { validator: undefined });
    expect(download.resumePoint).toBeUndefined();
  });
});

describe('a download that continues an earlier attempt', () => {
  const partOf = (bytes: Buffer) => ({ parts: new Map([['fox.mp4.part', bytes]]) });

  it('takes as many bytes of its part as it noted', async () => {
    const { sink, chunks, confirm } = heldSink();
    const chunksLeft = [video.subarray(0, 4_500), video.subarray(4_500, 5_500), video.subarray(5_500)];
    const change = { readPart: async () => streamOf(chunksLeft) };
    const { download } = openDownload(video, { incoming: { sink }, change });
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
    const { download, discarded } = openDownload(video, partOf(part()));
    await download.resumeFrom(note());
    expect([download.bytes, download.resumePoint]).toEqual([0, undefined]);
    expect(discarded).toEqual(['fox.mp4']);
  });

  it.each<[what: string, change: Partial<VideoStorage>]>([
    ['has no such part', { readPart: async () => undefined }],
    ['cannot read parts', { readPart: undefined } as never],
  ])('starts over when the storage %s', async (_what, change) => {
    const { download } = openDownload(video, { change });
    await download.resumeFrom(noteOf(video.subarray(0, 5_000)));
    expect([download.bytes, download.resumePoint]).toEqual([0, undefined]);
  });
});

describe('a download that is connected again', () => {
  it('starts over when the server does, and discards what it had', async () => {
    const { download, connect, discarded, stored } = openDownload(video);
    await connect(video.subarray(0, 5_000));
    await connect(video);
    expect(discarded).toEqual(['fox.mp4']);
    await download.publish();
    expect(stored.get('fox.mp4')?.equals(video)).toBe(true);
  });

  it('starts over without a fault when a new video is sent from its start', async () => {
    const { download, connect } = openDownload(video);
    await connect(video.subarray(0, 5_000), { bytes: 6_000 });
    await connect(video);
    expect(download).toMatchObject({ bytes: video.length, of: video.length });
  });

  it('is cut when the rest is that of a longer video', async () => {
    const { download, connect, discarded } = openDownload(video);
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
    const { download, connect } = openDownload(video);
    const length = (isStated: boolean) => (isStated ? video.length : undefined);
    await connect(video.subarray(0, 5_000), { bytes: length(first) });
    await connect(video.subarray(5_000), { offset: 5_000, bytes: length(then) });
    expect([download.bytes, download.of]).toEqual([video.length, length(then)]);
  });
});

describe('a video that is too large', () => {
  it('is refused by the length that the server states', async () => {
    const { connect, received } = openDownload(video, { largestBytes: video.length - 1 });
    await expect(connect(Buffer.alloc(0))).rejects.toThrow(`it has more than ${video.length - 1} bytes`);
    expect(received).toEqual([]);
  });

  it('has more bytes than the largest one', async () => {
    const { download, connect } = openDownload(video, { largestBytes: video.length });
    await connect(video);
    expect(download.bytes).toBe(video.length);
  });
});

describe('a published video', () => {
  const publishOf = async (bytes: Buffer, length: number | undefined) => {
    const { download, connect } = openDownload(video);
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
    const { download, connect } = openDownload(video, { parts });
    await connect(video.subarray(0, 5_000));
    expect(await download.leave()).toEqual(noteOf(video.subarray(0, 5_000)));
    expect(parts.get('fox.mp4.part')?.equals(video.subarray(0, 5_000))).toBe(true);
  });

  it.each<[what: string, opened: Opened, validator: string | undefined]>([
    ['cannot leave a part', WITHOUT_PARTS, VALIDATOR],
    ['need not, as the server cannot resume', {}, undefined],
  ])('is discarded by a storage that %s', async (_what, opened, validator) => {
    const parts = new Map<string, Buffer>();
    const { download, connect, discarded } = openDownload(video, { parts, ...opened });
    await connect(video.subarray(0, 5_000), { validator });
    expect(await download.leave()).toBeUndefined();
    expect([discarded, parts.size]).toEqual([['fox.mp4'], 0]);
  });

  it('leaves nothing before the storage receives it', async () => {
    const { download, connect } = openDownload(video);
    await connect(video.subarray(0, 10));
    expect(await download.leave()).toBeUndefined();
  });

  it('is set aside whole by a storage that can', async () => {
    const setAside = async (key: string) => ({ uri: `aside:${key}` });
    const { download, connect, stored } = openDownload(video, { incoming: { setAside } });
    await connect(video.subarray(0, 5_000));
    expect(await download.setAside()).toBe('aside:fox.mp4.bad');
    expect(stored.size).toBe(0);
  });
});

describe('the storage', () => {
  it('receives a video as soon as 4096 bytes show what it is, and is told whose it is', async () => {
    const { connect, received } = openDownload(video);
    await connect(video.subarray(0, 4_095));
    expect(received).toEqual([]);
    await connect(video.subarray(4_095, 4_096), { offset: 4_095 });
    expect(received).toEqual([['fox.mp4', { owner: 'task-1', contentType: 'video/mp4', isRetry: true }]]);
  });
});
