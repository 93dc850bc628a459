import { PassThrough, Writable } from 'node:stream';
import { createVideoActivities } from '../../activities';
import type { IncomingVideo, VideoStorage } from '../../src/storage';
import { type ActivityWorld, failureOf } from './activity-world';
import { useDownloadWorld } from './download/download-world';
import { inMemory } from './download/memory-storage';

const here = useDownloadWorld();
let world: ActivityWorld;
let taskId: string;
beforeEach(() => {
  ({ world, taskId } = here);
});

describe('a custom storage', () => {
  const downloadTo = (storage: VideoStorage, input = {}) => {
    const { downloadVideo } = createVideoActivities({ service: world.service, storage });
    return world.run(downloadVideo, { taskId, ...input });
  };

  it('receives a video whose connection is cut, and publishes it when it is complete', async () => {
    world.emulator.next('download', { kind: 'cut', afterBytes: 100_000 });
    const stored = new Map<string, Buffer>();
    const { video } = await downloadTo(inMemory({ stored })).result;
    expect(video.uri).toBe('memory:test.mp4');
    expect([...stored.keys()]).toEqual(['test.mp4', 'test.mp4.json']);
    expect(stored.get('test.mp4')?.equals(await world.emulator.video(taskId))).toBe(true);
  });

  it('stores the beginning of a bad video', async () => {
    world.emulator.next('download', { kind: 'web-page' });
    const stored = new Map<string, Buffer>();
    const { failure } = await failureOf(downloadTo(inMemory({ stored }), { keepBad: true }));
    expect(failure.message).toContain('the bad file is stored at memory:test.mp4.bad');
    expect(String(stored.get('test.mp4.bad'))).toBe('<p>This link has expired.</p>');
  });

  it.each<[what: string, change: Partial<IncomingVideo>]>([
    ['cannot publish', { publish: () => Promise.reject(new Error('quota exceeded')) }],
    ['breaks while writing', { sink: brokenSink() }],
  ])('that %s fails the download with its own message', async (_what, change) => {
    const { failure, details } = await failureOf(downloadTo(inMemory({ incoming: change })));
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    expect(details).toMatchObject({ taskId, message: 'quota exceeded' });
  });

  it('that closes without an error fails the download too', async () => {
    const sink = new PassThrough();
    sink.once('data', () => sink.destroy());
    const { failure, details } = await failureOf(downloadTo(inMemory({ incoming: { sink } })));
    expect(failure.type).toBe('StorageFailed');
    expect(details.message).toBe('the storage closed the file');
  });

  function brokenSink(): Writable {
    return new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => done(new Error('quota exceeded')),
    });
  }
});
