import { ConfigError } from '../../src/config/service-config';
import { StorageUnusable } from '../../src/storage';
import { createVideoWorker, type VideoWorkerOptions, type WorkerRole } from '../../src/worker/video-worker';
import { failureOf } from '../support/world';

/** What a worker says that is asked for no more than its roles and queues: no service is named. */
async function refusal(options: VideoWorkerOptions): Promise<string> {
  const failure = await failureOf(createVideoWorker({ env: {}, taskQueue: 'q', ...options }));
  expect(failure).toBeInstanceOf(ConfigError);
  return failure instanceof Error ? failure.message : '';
}

const NEXT_IN_LINE = /^VIDEO_API_BASE_URL is not set/;

describe('a worker', () => {
  it.each<[readonly WorkerRole[] | undefined, VideoWorkerOptions]>([
    [undefined, {}],
    [undefined, { submitQueue: 'q' }],
    [undefined, { submitQueue: 'q', downloadQueue: 'q' }],
    [['jobs'], {}],
    [['jobs'], { submitQueue: 'q', downloadQueue: 'q' }],
    [['submits'], {}],
    [['submits'], { submitQueue: 's' }],
    [['downloads'], { downloadQueue: 'd' }],
    [['downloads'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'd' }, submitQueue: 'q' }],
    [['submits', 'downloads'], { downloadQueue: 'd' }],
    // What has no queue of its own is done with the jobs.
    [['jobs', 'downloads'], {}],
    [['jobs', 'submits'], { submitQueue: 'q' }],
  ])('may do %j with the queues of %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(NEXT_IN_LINE);
  });

  it('has to do something', async () => {
    expect(await refusal({ roles: [] })).toBe(
      'A worker without a role does nothing: give any of jobs, submits, downloads, or leave roles out.',
    );
  });

  it('has no role of another name', async () => {
    const roles: WorkerRole[] = JSON.parse('["jobs", "looks"]');
    expect(await refusal({ roles })).toBe(
      'A worker has no role "looks": give any of jobs, submits, downloads.',
    );
  });

  it.each<[WorkerRole[], VideoWorkerOptions]>([
    [['downloads'], {}],
    [['downloads'], { downloadQueue: 'q' }],
    [['downloads'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q' } }],
    [['downloads', 'submits'], {}],
  ])('that does %j without the jobs needs a queue of downloads: %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(
      /^VIDEOGEN_DOWNLOAD_QUEUE names no queue of its own, /,
    );
  });

  it.each<[WorkerRole[], VideoWorkerOptions]>([
    [['submits'], { submitQueue: 'q' }],
    [['submits', 'downloads'], { submitQueue: 'q', downloadQueue: 'd' }],
  ])('that does %j without the jobs needs a queue of submits: %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(/^Submits have no queue of their own, /);
  });

  it.each<[WorkerRole[] | undefined, VideoWorkerOptions]>([
    [undefined, { downloadQueue: 'q-submit' }],
    [['jobs'], { env: { VIDEOGEN_DOWNLOAD_QUEUE: 'q-submit' } }],
    [['downloads'], { submitQueue: 'd', downloadQueue: 'd' }],
  ])('that does %j is not handed submits and downloads by one queue: %j', async (roles, queues) => {
    expect(await refusal({ roles, ...queues })).toMatch(
      /^VIDEOGEN_DOWNLOAD_QUEUE .* is "(q-submit|d)", the queue of the submits: /,
    );
  });

  it.each<[WorkerRole[] | undefined]>([
    [undefined],
    [['downloads']],
    // Who submits writes the records of jobs.
    [['submits']],
  ])('that does %j does not begin with a storage that it cannot use', async (roles) => {
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
