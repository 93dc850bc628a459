import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VideoDownload } from '../../../activities/download/video-download';
import { makeVideo } from '../../media/make-video';
import { heldSink, openDownload, streamOf } from './open-download';

const MIB = 1024 * 1024;

/** A MiB that begins like a video. */
let video: Buffer;
beforeAll(async () => {
  video = Buffer.concat([await makeVideo('MP4 that begins with its tables'), Buffer.alloc(MIB)]).subarray(
    0,
    MIB,
  );
});

/** 12 MiB, one after the other. */
const writeSlowly = (download: VideoDownload) =>
  download.write(streamOf([video, ...Array(11).fill(Buffer.alloc(MIB))]));

const MANY_TURNS = 1_000;
async function untilItWaits(download: VideoDownload): Promise<void> {
  for (let turn = 0; turn < MANY_TURNS && !download.waitsForStorage; turn++) await nextTurn();
}

it('a storage may be 8 MiB behind; then the server waits until it is only 4', async () => {
  const { sink, confirm } = heldSink();
  const { download } = openDownload(video, { incoming: { sink } });
  expect(download.waitsForStorage).toBe(false);
  const writing = writeSlowly(download);
  const progress = async (confirmed: number) => {
    await confirm(confirmed);
    await nextTurn();
    return [download.bytes / MIB, download.waitsForStorage];
  };
  await untilItWaits(download);
  expect(await progress(0)).toEqual([8, true]);
  expect(await progress(3)).toEqual([8, true]);
  expect(await progress(1)).toEqual([12, true]);
  expect(await progress(4)).toEqual([12, false]);
  await writing;
});

it.each<[what: string, fail: (opened: { sink: Writable; cancel: () => void }) => void, message: string]>([
  ['breaks', ({ sink }) => sink.destroy(new Error('no room')), 'no room'],
  ['closes', ({ sink }) => sink.destroy(), 'the storage closed the file'],
  ['has a download that is cancelled', ({ cancel }) => cancel(), 'stop'],
])('the wait for a storage ends when it %s', async (_what, fail, message) => {
  const { sink } = heldSink();
  const { download, cancel } = openDownload(video, { incoming: { sink } });
  const writing = writeSlowly(download);
  await untilItWaits(download);
  fail({ sink, cancel });
  await expect(writing).rejects.toThrow(message);
});
