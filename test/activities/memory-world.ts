import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  createVideoActivities,
  type DownloadVideoInput,
  type SubmitVideoInput,
  type VideoActivities,
  type VideoActivityDeps,
} from '../../activities';
import type { TaskReading, VideoBody, VideoService } from '../../src/service';
import type { VideoStorage } from '../../src/storage';
import { inspect } from '../media/inspect';
import { makeVideo } from '../media/make-video';
import { openVideoBytes } from '../support/open-video-bytes';
import { loggerInto, startAttempt } from './activity-world';
import { meterInto, type Recorded } from './recording-meter';

type PollVideoInput = Parameters<VideoActivities['pollVideo']>[0];

export const TASK = 'task-1';
/** Whoever makes a job of it names the job `test`. */
export const FILES = ['test.mp4', 'test.mp4.json'];

/** A video, once the process that inspects videos is there: to start it takes longer than a test. */
export async function inspectedVideo(): Promise<Buffer> {
  const video = await makeVideo('MP4 that begins with its tables');
  await inspect(video);
  return video;
}

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A storage of somebody's own: it has only the four methods that a storage must have. */
export function inMemory(stored = new Map<string, Buffer>()): VideoStorage {
  return {
    publishFile: async (path, key) => {
      stored.set(key, await readFile(path));
      return { uri: `memory:${key}` };
    },
    write: async (key, text) => {
      stored.set(key, Buffer.from(text));
      return { uri: `memory:${key}` };
    },
    create: async (key, text) => {
      if (stored.has(key)) return false;
      stored.set(key, Buffer.from(text));
      return true;
    },
    read: async (key) => {
      const bytes = stored.get(key);
      return bytes && Readable.from(bytes.length > 0 ? [bytes] : [], { objectMode: false });
    },
  };
}

export interface MemoryWorldOptions extends Omit<VideoActivityDeps, 'service' | 'storage'> {
  service?: Partial<VideoService>;
  storage?: Partial<VideoStorage>;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A service and a storage in memory, for what activities do whichever they are. */
export function createMemoryWorld(
  video: Buffer = Buffer.alloc(0),
  { service, storage, ...worker }: MemoryWorldOptions = {},
) {
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
    submit: (input: Partial<SubmitVideoInput> = {}, info = {}) =>
      startAttempt(activities.submitVideo, { request: { prompt: 'A red fox' }, ...input }, info, logged),
    poll: (input: Partial<PollVideoInput> = {}, info = {}, client?: object) =>
      startAttempt(activities.pollVideo, { taskId: TASK, ...input }, info, logged, client),
    cancel: (input: { service?: string } = {}) =>
      startAttempt(activities.cancelVideo, { taskId: TASK, ...input }, {}, logged),
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

/** What an activity records with Temporal's meter, whether it fails or not. */
export async function recordedBy(activity: () => Promise<unknown>): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const environment = new MockActivityEnvironment(
    {},
    { metricMeter: meterInto(recorded), logger: loggerInto([]) },
  );
  await environment.run(activity).catch(() => undefined);
  return recorded;
}

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
