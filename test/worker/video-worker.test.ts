import { ConfigError } from '../../src/config/service-config';
import { StorageUnusable } from '../../src/storage';
import type { WorkerRole } from '../../src/worker/activity-workers';
import { createVideoWorker, type VideoWorkerOptions } from '../../src/worker/video-worker';
import { failureOf } from '../support/world';

/** The error of a worker with these roles and queues; without a service it never starts. */
async function refusal(options: VideoWorkerOptions): Promise<string> {
  const failure = await failureOf(createVideoWorker({ env: {}, taskQueue: 'q', ...options }));
  expect(failure).toBeInstanceOf(ConfigError);
  return failure instanceof Error ? failure.message : '';
}

const NO_SERVICE = /^VIDEO_API_BASE_URL is not set/;

describe('a worker', () => {
  it.each<[readonly WorkerRole[] | undefined, VideoWorkerOptions]>([
    [undefined, {}],
    [undefined, { downloadQueue: 'q' }],
    [['jobs'], {}],
    [['jobs'], { downloadQueue: 'q' }],
    [['submits'], {}],
    [['downloads'], { downloadQueue: 'd' }],
    [['downloads'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'd' } }],
    [['submits', 'downloads'], { downloadQueue: 'd' }],
    // Without a separate queue, downloads belong to the jobs.
    [['jobs', 'downloads'], {}],
    [['jobs', 'submits'], {}],
  ])('may have the roles %j with the queues %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(NO_SERVICE);
  });

  it.each([
    [undefined, /^VIDEO_API_KEY is not set: .+\.$/],
    ['two words', /^VIDEO_API_KEY holds a space.+\.$/],
  ])('with the key %j does not start, and says so in one line', async (VIDEO_API_KEY, line) => {
    expect(await refusal({ env: { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY } })).toMatch(line);
  });

  it.each<[WorkerRole[]]>([[[]], [JSON.parse('["jobs","polls"]')]])(
    'is refused the roles %j',
    async (roles) => {
      expect(await refusal({ roles })).toBe(
        `A worker has the roles ${JSON.stringify(roles)}: give any of jobs, submits, downloads.`,
      );
    },
  );

  it.each<[WorkerRole[], VideoWorkerOptions]>([
    [['downloads'], {}],
    [['downloads'], { downloadQueue: 'q' }],
    [['downloads'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q' } }],
    [['downloads', 'submits'], {}],
  ])('with the roles %j needs a queue for downloads: %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(
      /^VIDEOGEN_DOWNLOAD_QUEUE names no queue of its own, /,
    );
  });

  it.each<[WorkerRole[] | undefined, VideoWorkerOptions]>([
    [undefined, { downloadQueue: 'q-submit' }],
    [['jobs'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q-submit' } }],
    [['downloads'], { downloadQueue: 'q-submit' }],
  ])('with the roles %j refuses one queue for submits and downloads: %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(
      /^VIDEOGEN_DOWNLOAD_QUEUE is "q-submit", the queue of the submits: /,
    );
  });

  it.each<[WorkerRole[] | undefined]>([
    [undefined],
    [['downloads']],
    // A submit writes the job's record.
    [['submits']],
  ])('with the roles %j does not start with a storage that it cannot use', async (roles) => {
    const env = {
      VIDEO_API_BASE_URL: 'http://127.0.0.1:1',
      VIDEO_API_KEY: 'sk-x',
      VIDEOGEN_STORAGE: '/dev/null/videos',
      VIDEOGEN_DOWNLOAD_QUEUE: 'd',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    const failure = await failureOf(createVideoWorker({ env, roles }));
    expect(failure).toBeInstanceOf(StorageUnusable);
  });
});
