import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createVideoClient, type VideoClient } from '../../src';
import { connectClient, unreachable } from '../../src/client/connect';
import { orTellUnserved } from '../../src/client/missing-worker';
import { prepareJob } from '../../src/client/prepare-start';
import { RetryRefused } from '../../src/client/refusals';
import { type EndedJob, mayRetryAsItIs, planRetry } from '../../src/client/retry-job';
import { startOrJoin } from '../../src/client/start-or-join';
import { SIZES, shapeOf, sizeOf } from '../../src/client/video-size';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../src/contract/request';
import { VideoFailure } from '../../src/failures';

describe('a start', () => {
  /** Nobody listens there: what is refused is refused before Temporal is asked. */
  const client = new Client({
    connection: Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 100 }),
  });
  afterAll(() => client.connection.close());

  const request = { prompt: 'A fox' };
  const STARTS: [name: string, start: (videos: VideoClient, workflowId: string) => Promise<unknown>][] = [
    ['start', (videos, workflowId) => videos.start({ request }, { workflowId })],
    ['startBatch', (videos, workflowId) => videos.startBatch({ requests: [request] }, { workflowId })],
  ];

  it.each(STARTS)(
    'with a workflow id that is blank, too long or reserved is refused: %s',
    async (_, start) => {
      const videos = await createVideoClient({ env: {}, client });
      for (const workflowId of ['', ' ', 'x'.repeat(1_001), 'jobs', 'tasks/1']) {
        const failure = await start(videos, workflowId).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(VideoFailure);
        expect(failure).toMatchObject({
          type: 'InvalidRequest',
          details: {
            message:
              'workflowId must be text of at most 1000 bytes, not blank and without control characters; jobs, batches, images, gateway, tasks are reserved, as names and as folders',
          },
        });
      }
    },
  );

  it("never makes a second job under a name that is taken, whatever the caller's reuse policy is", async () => {
    const temporal = { workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;
    const job = prepareJob({ request }, { workflowId: 'fox', temporal });
    const outcome = await startOrJoin(client, job, async (options) => options);
    expect(outcome).toMatchObject({ started: { workflowIdReusePolicy: 'REJECT_DUPLICATE' } });
  });
});

describe('a connection error', () => {
  const KEY = 'temporal-key-0123456789';

  it('is quoted without the API key and without our headers, and is never endless', () => {
    const options = { address: 'temporal:7233', apiKey: KEY, metadata: { 'x-pass': 'open-sesame-77' } };
    const refused = new Error(`Metadata string value "Bearer ${KEY}" and "open-sesame-77" are refused`);
    const error = unreachable(options, refused);
    expect(error.message).toContain(
      'Temporal cannot be reached at temporal:7233 (Error: Metadata string value',
    );
    for (const secret of [KEY, 'open-sesame-77']) expect(error.message).not.toContain(secret);
    expect(error.cause).toBeUndefined();
    expect(unreachable({}, new Error('x'.repeat(1e6))).message.length).toBeLessThan(1_000);
  });

  it('comes after wrong encryption keys are refused', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', VIDEOGEN_ENCRYPTION_KEYS: 'no-key' };
    await expect(connectClient(env)).rejects.toThrow('VIDEOGEN_ENCRYPTION_KEYS');
  });
});

describe('somebody who waits long for a job', () => {
  interface World {
    pollers: Record<string, number>;
    pending?: string[];
  }

  /** What is told in a world with this many pollers of each queue, and with these queues of pending activities. */
  async function toldOf({ pollers, pending = [] }: World, outcomeMs: number): Promise<string[]> {
    const workflowService = {
      describeWorkflowExecution: async () => ({
        workflowExecutionInfo: { taskQueue: 'films' },
        pendingActivities: pending.map((name) => ({ activityOptions: { taskQueue: { name } } })),
      }),
      describeTaskQueue: async ({ taskQueue: { name } }: { taskQueue: { name: string } }) => ({
        pollers: Array.from({ length: pollers[name] ?? 0 }, () => ({})),
      }),
    };
    const connection = { withDeadline: (_: number, ask: () => Promise<unknown>) => ask() };
    const client = { options: { namespace: 'default' }, workflowService, connection };
    const handle = { workflowId: 'fox-1', client } as unknown as Parameters<typeof orTellUnserved>[0];
    const lines: string[] = [];
    await orTellUnserved(handle, sleep(outcomeMs), (line) => lines.push(line), 20);
    return lines;
  }

  it.each<[string, World]>([
    ['films', { pollers: {} }],
    ['films-submit', { pollers: { films: 1 }, pending: ['films-submit'] }],
  ])('is told once that nobody serves the queue %s', async (queue, world) => {
    const line = `fox-1 waits: no worker polls the task queue ${queue}. Start one.`;
    expect(await toldOf(world, 200)).toEqual([line]);
  });

  it('is told nothing while workers poll, or when the outcome comes soon', async () => {
    const served = { pollers: { films: 1, 'films-submit': 1 }, pending: ['films-submit'] };
    expect(await toldOf(served, 200)).toEqual([]);
    expect(await toldOf({ pollers: {} }, 0)).toEqual([]);
  });
});

describe('a retry', () => {
  const ended = (type: FailureType, more: Partial<EndedJob> = {}): EndedJob => ({
    failure: new VideoFailure(type, more.taskId === undefined ? {} : { taskId: more.taskId }),
    taskId: undefined,
    wasHeld: false,
    resubmit: false,
    ...more,
  });

  function outcomeOf(job: EndedJob): unknown {
    try {
      return planRetry('fox 1', job);
    } catch (error) {
      if (!(error instanceof RetryRefused)) throw error;
      return error.commands;
    }
  }

  const ASKS = ["videogen retry 'fox 1' --resubmit"];
  const repeated = new VideoFailure('Unauthorized', { mayHaveTask: true });
  const unknown = { failure: undefined };
  const TASK = { taskId: 't' };

  it.each<[string, EndedJob, unknown]>([
    ['continues with a task that may bring a video', ended('DeadlineExceeded', TASK), 'adopt'],
    ['continues with a task whose failure nobody knows', ended('NoVideo', { ...TASK, ...unknown }), 'adopt'],
    ['continues with a task that the service did not know', ended('TaskUnknown', TASK), 'adopt'],
    ['starts again what was never sent', ended('RateLimited'), 'again'],
    ['starts a lost submit again, to be held for a decision', ended('SubmitUnconfirmed'), 'again'],
    ['asks before it pays for a failed generation again', ended('GenerationFailed', TASK), ASKS],
    ['asks before it repeats a refused request', ended('InvalidRequest'), ASKS],
    [
      'asks when a lost submit was repeated',
      ended('Unauthorized', { failure: repeated, wasHeld: true }),
      ASKS,
    ],
    ['starts again, once decided, what has no task', ended('SubmitUnconfirmed', { resubmit: true }), 'again'],
    ['pays anew, once decided, for a task', ended('GenerationFailed', { ...TASK, resubmit: true }), 'anew'],
  ])('%s', (_what, job, outcome) => {
    expect(outcomeOf(job)).toEqual(outcome);
  });

  it('never pays anew without a decision, and is proposed for what needs none', () => {
    for (const type of Object.keys(FAILURES) as FailureType[]) {
      for (const taskId of [undefined, 't']) {
        const outcome = outcomeOf(ended(type, { taskId }));
        expect([type, outcome]).not.toEqual([type, 'anew']);
        expect([type, taskId, mayRetryAsItIs(type, taskId)]).toEqual([type, taskId, !Array.isArray(outcome)]);
      }
    }
  });
});

test('a size is that of one resolution and ratio, and back, with even sides, which codecs need', () => {
  for (const resolution of RESOLUTIONS) {
    for (const aspect_ratio of ASPECT_RATIOS) {
      const size = sizeOf({ prompt: 'A fox', resolution, aspect_ratio }) ?? '';
      expect(shapeOf(size)).toEqual({ resolution, aspect_ratio });
    }
  }
  expect(SIZES).toEqual(expect.arrayContaining(['854x480', '480x640', '960x720', '1080x1920']));
  expect(SIZES.flatMap((size) => size.split('x').map(Number)).filter((side) => side % 2 === 1)).toEqual([]);
  // The service chooses the ratio.
  expect(sizeOf({ prompt: 'A fox', resolution: '720p' })).toBeUndefined();
  expect(['1280x721', ''].map(shapeOf)).toEqual([undefined, undefined]);
});
