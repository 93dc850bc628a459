import { createVideoActivities } from '../../activities';
import type { VideoStorage } from '../../src/storage';
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
    const { video } = await downloadTo(inMemory(stored)).result;
    expect(video.uri).toBe('memory:test.mp4');
    expect([...stored.keys()]).toEqual(['test.mp4', 'test.mp4.json']);
    expect(stored.get('test.mp4')?.equals(await world.emulator.video(taskId))).toBe(true);
  });

  it('that cannot publish fails the download with its own message', async () => {
    const publishFile = () => Promise.reject(new Error('quota exceeded'));
    const { failure, details } = await failureOf(downloadTo({ ...inMemory(), publishFile }));
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    expect(details).toMatchObject({ taskId, message: 'quota exceeded' });
  });
});
