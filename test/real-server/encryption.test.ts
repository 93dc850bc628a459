import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import { connectClient, encryptedDataConverter } from '../../src/client/connect';
import { registerSearchAttributes } from '../../src/client/search-attributes';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import type { JobInput } from '../../src/contract/job';
import { ledgerIdOf } from '../../src/contract/names';
import { makeEncryptionKey } from '../../src/encryption/key-ring';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { OWN_WORKFLOWS } from '../../src/worker/own-workflows';
import { createVideoWorker, type VideoWorker, type VideoWorkerOptions } from '../../src/worker/video-worker';
import { runHere, startHere } from '../cli/cli-here';
import { captureLogs } from '../support/logs';
import { atLength, testAtNight } from '../support/nightly';
import { reset } from '../support/reset';
import { searchDatabase } from '../support/search-database';
import { startWebhookReceiver, WEBHOOK_SECRET, type WebhookReceiver } from '../support/webhook-receiver';
import { failureOf, pause, untilProgress } from '../support/world';

jest.setTimeout(180_000);

const KEY_A = makeEncryptionKey('2026-11');
const KEY_B = makeEncryptionKey('2027-05');
const polling = { min: '1s', max: '1s' } as const;

const logs = captureLogs();

/** A server with a database, the emulator, and clients and workers with the given keys. */
class Place {
  readonly taskQueue = `encrypted-${randomUUID()}`;
  private readonly workers: { worker: VideoWorker; ended: Promise<void> }[] = [];
  private readonly clients: Client[] = [];

  private constructor(
    readonly folder: string,
    readonly server: DevServer,
    readonly emulator: Emulator,
    readonly receiver: WebhookReceiver,
  ) {}

  static async open(): Promise<Place> {
    const folder = await mkdtemp(join(tmpdir(), 'videogen-encryption-'));
    const executable = process.env.VIDEOGEN_TEMPORAL_CLI ?? '';
    const server = await startDevServer({
      executable,
      dbFilename: join(folder, 'temporal.db'),
      headless: true,
    });
    const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 16 * 1024 });
    return new Place(folder, server, emulator, await startWebhookReceiver());
  }

  env(keys?: string): Record<string, string> {
    return {
      TEMPORAL_ADDRESS: this.server.address,
      VIDEO_API_BASE_URL: this.emulator.url,
      VIDEO_API_KEY: this.emulator.apiKey,
      VIDEOGEN_TASK_QUEUE: this.taskQueue,
      VIDEOGEN_STORAGE: this.videos,
      VIDEOGEN_SEARCH_ATTRIBUTES: 'true',
      VIDEOGEN_WEBHOOK_SECRET: WEBHOOK_SECRET,
      VIDEOGEN_WEBHOOK_ALLOW: '127.0.0.1',
      ...(keys && { VIDEOGEN_ENCRYPTION_KEYS: keys }),
    };
  }

  get videos(): string {
    return join(this.folder, 'STOREMARK');
  }

  async client(keys?: string): Promise<{ client: Client; videos: VideoClient }> {
    const env = this.env(keys);
    const client = await connectClient(env);
    this.clients.push(client);
    await registerSearchAttributes({ connection: client.connection, namespace: 'default' });
    return { client, videos: await createVideoClient({ env, client }) };
  }

  async startWorker(keys?: string, options: VideoWorkerOptions = {}): Promise<VideoWorker> {
    const worker = await createVideoWorker({
      env: this.env(keys),
      ...options,
      worker: {
        ...(keys && { workflowBundle }),
        // The next worker need not wait for the queue of this one.
        stickyQueueScheduleToStartTimeout: '1s',
        ...options.worker,
      },
    });
    this.workers.push({ worker, ended: worker.run() });
    return worker;
  }

  async endWorkers(): Promise<void> {
    for (const { worker } of this.workers) worker.shutdown();
    await Promise.all(this.workers.splice(0).map(({ ended }) => ended));
  }

  generationsOf(prompt: string) {
    return this.emulator.generations().filter(({ request }) => request.prompt === prompt);
  }

  async close(): Promise<void> {
    await this.endWorkers();
    for (const { connection } of this.clients) await connection.close();
    await this.emulator.close();
    await this.receiver.close();
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

let place: Place;
/** Our workflows for workers with keys, except that the ledger continues as new every few seconds, and not once a day. */
let workflowBundle: { code: string };
beforeAll(async () => {
  place = await Place.open();
  const { failureConverterPath = '' } = encryptedDataConverter({ env: place.env(KEY_A) });
  const { code } = await bundleWorkflowCode({ workflowsPath: OWN_WORKFLOWS, failureConverterPath });
  workflowBundle = { code: code.replace(/\b(LONGEST_LEDGER_RUN_MS = )[^;]+/, '$13000') };
  expect(workflowBundle.code).not.toBe(code);
});
afterAll(() => place.close());
afterEach(() => place.endWorkers());

/** What people do not want in a history, one word for each kind. */
const PROMPT = 'a fox under the PAPERMOON';
const MARKS = ['PAPERMOON', 'LINKMARK', 'HOOKMARK', 'FAILMARK', 'STOREMARK', 'MEMOMARK'];

const request = { prompt: PROMPT, image_url: 'https://example.com/LINKMARK.png' };

/** Jobs that end in every way. Returns the task ids, which nobody may read either. */
async function playJobs(at: Place, client: Client, videos: VideoClient): Promise<string[]> {
  await playMarks(at, videos);
  await playOthers(at, client, videos);
  return at.emulator.generations().map(({ taskId }) => taskId);
}

/** Jobs with every kind of mark. */
async function playMarks(at: Place, videos: VideoClient): Promise<void> {
  const { emulator } = at;
  const input: JobInput = { request, polling, callbackUrl: `${at.receiver.url}&more=HOOKMARK` };
  const stored = await videos.start(input, {
    workflowId: 'stored',
    temporal: { memo: { note: 'MEMOMARK' } },
  });
  await stored.result();

  emulator.next('status', { kind: 'failed-task', code: 'bad', message: 'the FAILMARK broke' });
  const failed = await videos.start({ request, polling }, { workflowId: 'failed' });
  const failure = await failureOf(failed.result());
  expect(failure).toMatchObject({ type: 'GenerationFailed' });
  expect(String(failure)).toContain('FAILMARK');
  while (at.receiver.accepted('stored').length === 0) await pause();
}

async function playOthers(at: Place, client: Client, videos: VideoClient): Promise<void> {
  const { emulator } = at;
  emulator.next('submit', { kind: 'reset' });
  const held = await videos.start({ request, polling }, { workflowId: 'held' });
  const { hold } = await untilProgress(held, ({ phase }) => phase === 'needs-decision');
  expect(hold).toBeDefined();
  const lost = emulator.generations().at(-1)?.taskId ?? '';
  await held.decideSubmit({ decision: 'adopt', taskId: lost });
  expect(await held.result()).toMatchObject({ taskId: lost });

  emulator.next('status', ...Array.from({ length: 3 }, () => ({ kind: 'server-error' }) as const));
  const cancelled = await videos.start({ request, polling }, { workflowId: 'cancelled' });
  const cancelledTask = await cancelled.taskId();
  await cancelled.cancel();
  expect(await failureOf(cancelled.result())).toMatchObject({ type: 'Cancelled' });
  const retried = await videos.retry('cancelled');
  expect(retried.adopted).toBe(cancelledTask);
  await videos.handle(retried.workflowId).result();

  const batch = await videos.startBatch({ requests: [request, request], polling }, { workflowId: 'batch' });
  expect(await batch.result()).toMatchObject({ succeeded: 2 });

  // Only the history of the run before knows the task.
  const before = emulator.generations().length;
  await rm(join(at.videos, 'jobs'), { recursive: true });
  await reset(client, { workflowId: 'stored' });
  await videos.handle('stored').result();
  expect(emulator.generations()).toHaveLength(before);

  const overviews = [];
  for await (const overview of videos.list()) overviews.push(overview);
  expect(overviews.find(({ workflowId }) => workflowId === 'cancelled')).toMatchObject({
    state: 'cancelled',
    taskId: cancelledTask,
  });
  expect(await videos.find('failed')).toMatchObject({ state: 'failed', failure: 'GenerationFailed' });
}

test('of jobs that end in every way, nothing that is marked is in the database of the server', async () => {
  const { client, videos } = await place.client(KEY_A);
  // At night it bundles its workflows itself, as workers do that bring none.
  await place.startWorker(KEY_A, { worker: atLength({}, { workflowBundle: undefined }) });
  const taskIds = await playJobs(place, client, videos);
  const words = [...MARKS, ...taskIds, place.taskQueue];
  // Names of task queues are for Temporal.
  expect(await searchDatabase(join(place.folder, 'temporal.db'), words)).toEqual([place.taskQueue]);
});

testAtNight('the same search finds every mark when nothing is encrypted', async () => {
  const plain = await Place.open();
  try {
    const { client, videos } = await plain.client();
    await plain.startWorker();
    await playJobs(plain, client, videos);
    const words = [...MARKS, ...plain.emulator.generations().map(({ taskId }) => taskId)];
    expect(await searchDatabase(join(plain.folder, 'temporal.db'), words)).toEqual(words);
  } finally {
    await plain.close();
  }
});

/** The attempts of a pending activity so far. */
async function untilAttempts(client: Client, workflowId: string, attempts: number): Promise<void> {
  for (;;) {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    if (Number(raw.pendingActivities?.[0]?.attempt ?? 0) >= attempts) return;
    await pause();
  }
}

const lastTaskFailure = async (client: Client, workflowId: string) =>
  (await client.workflow.getHandle(workflowId).fetchHistory()).events
    ?.map(({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message)
    .findLast(Boolean);

const videogen = (keys: string | undefined, ...args: string[]) => runHere(args, place.env(keys));

describe('a worker without the key of a job', () => {
  const UNKNOWN =
    'A payload is encrypted with the key 2026-11, which is not among the keys of this process: add that key behind the first one again.';

  test('leaves the job as it is, commands name the key, and the next worker with it makes one video', async () => {
    const { client, videos } = await place.client(KEY_A);
    await place.startWorker(KEY_B);
    const prompt = 'for the right worker';
    const temporal = { workflowTaskTimeout: '2s' } as const;
    const job = await videos.start(
      { request: { prompt }, polling },
      { workflowId: 'wrong-worker', temporal },
    );
    while ((await lastTaskFailure(client, 'wrong-worker')) !== UNKNOWN) await pause();
    // A decision that no worker can read would keep the job from going on.
    for (const [keys, sentence] of [
      [KEY_B, UNKNOWN],
      [undefined, /and this process has no keys: set VIDEOGEN_ENCRYPTION_KEYS/],
    ] as const) {
      const other = (await place.client(keys)).videos.handle('wrong-worker');
      await expect(other.decideSubmit({ decision: 'abandon' })).rejects.toThrow(sentence);
    }
    const said = `A worker cannot read wrong-worker. ${UNKNOWN.replace(/:.*/, '')}`;
    /** Lists lag behind. */
    const until = async (...args: string[]) => {
      for (;;) {
        const { out } = await videogen(KEY_A, ...args);
        if (out.includes(said)) return out;
        await pause();
      }
    };
    await until('status', 'wrong-worker', '--json');
    expect(await until('doctor')).toMatch(/^failed +encryption +A worker cannot read wrong-worker/m);
    const followed = startHere(['generate', '--id', 'wrong-worker'], place.env(KEY_A));
    while (!followed.err().includes(said)) await pause();
    followed.kill('SIGINT');
    expect(await followed.ended).toBe(130);
    const { code, out } = await videogen(KEY_B, 'doctor');
    expect(code).toBe(2);
    expect(out).toContain('wrong-worker is encrypted with the key 2026-11, which is not set here');
    await place.endWorkers();
    await place.startWorker(`${KEY_A},${KEY_B}`);
    expect(await job.result()).toMatchObject({ video: { bytes: 16_384 } });
    const shown = JSON.parse((await videogen(KEY_A, 'status', 'wrong-worker', '--json')).out);
    expect(shown).toMatchObject({ result: {}, summary: expect.stringContaining(prompt) });
    // The record in the storage names the files.
    expect((await videogen(undefined, 'forget', 'wrong-worker', '--dry-run')).code).toBe(0);
    expect(place.generationsOf(prompt)).toHaveLength(1);
    expect(JSON.stringify(logs)).not.toContain(KEY_A.split(':')[1]);
  });

  test('fails attempts of a submit that are not taken for lost ones', async () => {
    const { client, videos } = await place.client(KEY_A);
    const prompt = 'for the right submitter';
    await place.startWorker(KEY_A, { roles: ['jobs'] });
    const wrong = await place.startWorker(KEY_B, { roles: ['submits'] });
    const job = await videos.start({ request: { prompt }, polling }, { workflowId: 'wrong-submitter' });
    await untilAttempts(client, 'wrong-submitter', 2);
    const { raw } = await client.workflow.getHandle('wrong-submitter').describe();
    expect(raw.pendingActivities?.[0]?.lastFailure).toMatchObject({
      message: `Failed to parse activity args for activity submitVideo: ${UNKNOWN}`,
      applicationFailureInfo: { type: 'videogen.NotDecrypted.after-attempt-0', nonRetryable: false },
    });
    wrong.shutdown();
    await place.startWorker(KEY_A, { roles: ['submits'] });
    expect(await job.result()).toMatchObject({ video: { bytes: 16_384 } });
    expect(place.generationsOf(prompt)).toHaveLength(1);
  });
});

test('after the rotation that the page shows, videos under a cap are still made', async () => {
  const { client } = await place.client();
  const ledger = client.workflow.getHandle(ledgerIdOf(place.taskQueue));
  const startWorker = (keys: string) => place.startWorker(keys, { caps: { day: { videos: 100 } } });
  /** A video under a cap, by a client and a worker with these keys. */
  const makeVideo = async (keys: string) => {
    const { videos } = await place.client(keys);
    await startWorker(keys);
    await videos.execute({ request: { prompt: 'A fox' }, polling, deadline: '30s' });
    await place.endWorkers();
  };
  await makeVideo(KEY_A);
  // As long as a namespace keeps ended jobs: a day at least, in which the ledger continues as new.
  const { runId } = await ledger.describe();
  await startWorker(`${KEY_B},${KEY_A}`);
  while ((await ledger.describe()).runId === runId) await pause();
  await place.endWorkers();
  await makeVideo(KEY_B);
});
