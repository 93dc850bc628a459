import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createVideoActivities, type DownloadOptions, type DownloadVideoInput } from '../../../activities';
import type { TaskReading, VideoBody, VideoService } from '../../../src/service';
import type { VideoStorage } from '../../../src/storage';
import { inspect } from '../../media/inspect';
import { makeVideo } from '../../media/make-video';
import { openVideoBytes } from '../../support/open-video-bytes';
import { startAttempt } from '../activity-world';
import { inMemory } from './memory-storage';

export const TASK = 'task-1';
/** Whoever makes a job of it names the job `test`. */
export const FILES = ['test.mp4', 'test.mp4.json'];

/** A video, once the process that inspects videos is there: to start it takes longer than a test. */
export async function inspectedVideo(): Promise<Buffer> {
  const video = await makeVideo('MP4 that begins with its tables');
  await inspect(video);
  return video;
}

export interface MemoryWorldOptions extends DownloadOptions {
  service?: Partial<VideoService>;
  storage?: Partial<VideoStorage>;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A service and a storage in memory, for what a download does whichever they are. */
export function createMemoryWorld(video: Buffer, { service, storage, ...worker }: MemoryWorldOptions = {}) {
  const stored = new Map<string, Buffer>();
  const partsFolder = mkdtempSync(join(tmpdir(), 'videogen-parts-'));
  folders.push(partsFolder);
  const logged: unknown[] = [];
  const activities = createVideoActivities({
    service: {
      address: 'https://foxes.example.com',
      start: async () => ({ taskId: TASK }),
      status: async () => SUCCEEDED,
      open: async (_link, { from } = {}) => openVideoBytes(video, from && { from }),
      ...service,
    },
    storage: { ...inMemory(stored), partsFolder, ...storage },
    ...worker,
  });
  return {
    activities,
    stored,
    partsFolder,
    /** The unfinished downloads. */
    parts: () => readdirSync(partsFolder),
    submit: () => startAttempt(activities.submitVideo, { request: { prompt: 'A red fox' } }).result,
    download: (input: Partial<DownloadVideoInput> = {}, info = {}, client?: object) =>
      startAttempt(activities.downloadVideo, { taskId: TASK, ...input }, info, logged, client),
    /** The fields of the log lines of an event. */
    linesOf: (event: string) =>
      logged.filter((line) => Object(line).event === event).map((line) => fieldsOf(Object(line))),
    json: (key: string) => JSON.parse(String(stored.get(key))),
  };
}

/** What one poll says. */
export const reading = (task: TaskReading['task'], more: Partial<TaskReading> = {}): TaskReading => ({
  task,
  ...more,
});

const LINK = 'https://foxes.example.com/fox.mp4';
export const SUCCEEDED = reading({ state: 'succeeded', word: 'succeeded', videoUrl: LINK });

/** What Temporal adds to each line. */
const OF_TEMPORAL = [
  'activityId',
  'activityType',
  'attempt',
  'isLocal',
  'namespace',
  'sdkComponent',
  'taskQueue',
  'taskToken',
  'workflowId',
  'workflowRunId',
  'workflowType',
];

function fieldsOf({ event: _, ...line }: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(line).filter(([name]) => !OF_TEMPORAL.includes(name)));
}

/** The same answer, whose connection breaks after so many bytes; or when `stalled` ends it, which waits until then. */
export function cutAfter(
  bytes: number,
  body: VideoBody,
  stalled: () => Promise<unknown> = async () => undefined,
): VideoBody {
  const some = async function* () {
    let left = bytes;
    for await (const chunk of body.stream) {
      yield chunk.subarray(0, left);
      left -= Math.min(left, chunk.length);
      if (left === 0) break;
    }
    await stalled();
    throw new Error('socket closed');
  };
  return { ...body, stream: Readable.from(some(), { objectMode: false }) };
}
