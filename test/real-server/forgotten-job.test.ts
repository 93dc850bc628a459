import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VideoClient } from '../../src/client/video-client';
import type { VideoRequest } from '../../src/contract';
import { type Emulator, startEmulator } from '../../src/emulator';
import { createVideoService, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { bundlePath, untilProgress } from '../support/world';

const request: VideoRequest = { prompt: 'A red fox', seed: 7 };
const input = { request, polling: { min: '1s', max: '1s' } } as const;
const named = { workflowId: 'fox' };

jest.setTimeout(120_000);

let emulator: Emulator;
let service: VideoService;
let folder: string;
let environments: VideoTestEnvironment[];
beforeAll(captureLogs);
beforeEach(async () => {
  emulator = await startEmulator({ jobTimeMs: 2_000, videoBytes: 64 * 1024 });
  service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
  folder = await mkdtemp(join(tmpdir(), 'videogen-forgotten-'));
  // The second server is empty, like one that has deleted the job after its retention period.
  environments = await Promise.all([0, 1].map(() => createVideoTestEnvironment({ server: 'dev' })));
});
afterEach(async () => {
  for (const environment of environments) await environment.teardown();
  await service.close();
  await emulator.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the first part on one server and the second on the other, with the same service and storage. */
async function onBothServers(...work: ((videos: VideoClient) => Promise<void>)[]): Promise<void> {
  for (const [index, part] of work.entries()) {
    const environment = environments[index];
    if (environment === undefined) throw new Error('there are two servers');
    const worker = await environment.createWorker({
      service,
      storage: createFileStorage(folder),
      worker: { workflowBundle: { codePath: bundlePath() } },
    });
    await worker.runUntil(() => part(environment.videos));
  }
}

describe('the same name and request, after Temporal has deleted the job,', () => {
  it('returns the stored video, and pays for nothing again', async () => {
    let first: unknown;
    await onBothServers(
      async (videos) => {
        first = await videos.execute(input, named);
      },
      async (videos) => {
        const second = await videos.execute(input, named);
        expect(second).toEqual({ ...Object(first), polls: 0, waitedMs: expect.any(Number) });
      },
    );
    expect(emulator.generations()).toHaveLength(1);
  });

  it('continues with the task of a job that ended before the video was stored', async () => {
    let taskId: string | undefined;
    await onBothServers(
      async (videos) => {
        taskId = await (await videos.start(input, named)).taskId();
      },
      async (videos) => {
        expect(await videos.execute(input, named)).toMatchObject({ taskId });
      },
    );
    expect(emulator.generations()).toHaveLength(1);
  });

  it('returns the video of a task that was adopted after a lost submit', async () => {
    emulator.next('submit', { kind: 'reset' });
    let first: unknown;
    await onBothServers(
      async (videos) => {
        const job = await videos.start(input, named);
        await untilProgress(job, ({ phase }) => phase === 'needs-decision');
        const [{ taskId } = { taskId: '' }] = emulator.generations();
        await job.decideSubmit({ decision: 'adopt', taskId });
        first = (await job.result()).video;
      },
      async (videos) => {
        expect(await videos.execute(input, named)).toMatchObject({ video: first });
      },
    );
    expect(emulator.generations()).toHaveLength(1);
  });

  it('is held when the submit was lost', async () => {
    emulator.next('submit', { kind: 'reset' });
    const isHeld = ({ phase }: { phase: string }) => phase === 'needs-decision';
    await onBothServers(
      async (videos) => {
        await untilProgress(await videos.start(input, named), isHeld);
      },
      async (videos) => {
        const job = await videos.start(input, named);
        const { hold } = await untilProgress(job, isHeld);
        expect(hold?.message).toContain('its answer is not on record');
        expect(emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
        await job.decideSubmit({ decision: 'resubmit' });
        await job.result();
      },
    );
    // The decision was to resubmit.
    expect(emulator.generations()).toHaveLength(2);
  });
});
