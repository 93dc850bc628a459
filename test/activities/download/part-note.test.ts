import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readPartNote } from '../../../activities/download/video-download';
import type { VideoStorage } from '../../../src/storage';
import { makeVideo } from '../../media/make-video';
import { startAttempt } from '../activity-world';
import { inMemory } from './memory-storage';
import { heldSink, noteOf, type Opened, openDownload, VALIDATOR, WITHOUT_PARTS } from './open-download';

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

describe('the note of a download', () => {
  it('says what the storage has confirmed, and so nothing before it has', async () => {
    const { sink, confirm } = heldSink();
    const { download, connect } = openDownload(video, { incoming: { sink } });
    expect(download.note).toBeUndefined();
    await connect(video.subarray(0, 5_000));
    expect(download.note).toBeUndefined();
    await confirm(1);
    expect(download.note).toEqual(noteOf(video.subarray(0, 5_000)));
  });

  it('is renewed every second', async () => {
    const { download, connect } = openDownload(video);
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
    const { download, connect } = openDownload(video, opened);
    await connect(video.subarray(0, 5_000), { validator });
    await nextTurn();
    expect(download.note).toBeUndefined();
  });

  it('does not count a write that failed', async () => {
    const { sink, confirm } = heldSink();
    const { download, connect } = openDownload(video, { incoming: { sink } });
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
    const { download, connect } = openDownload(video, { change });
    await connect(video.subarray(0, 5_000));
    nowMs += 1_000;
    await connect(video.subarray(0, 6_000));
    await sinks[0]?.confirm(1);
    expect(download.note).toBeUndefined();
    await sinks[1]?.confirm(1);
    expect(download.note).toEqual(noteOf(video.subarray(0, 6_000)));
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
