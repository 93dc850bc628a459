import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import { encryptedDataConverter } from '../../src/client/connect';
import { createVideoClient } from '../../src/client/video-client';
import { DEFAULT_TASK_QUEUE, ledgerIdOf } from '../../src/contract/names';
import { makeEncryptionKey } from '../../src/encryption/key-ring';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { pause } from '../support/world';

const FIRST = makeEncryptionKey('first');
const SECOND = makeEncryptionKey('second');
const settings = (keys: string) => ({ env: { VIDEOGEN_ENCRYPTION_KEYS: keys } });

let env: VideoTestEnvironment;
/** Our workflows, except that the ledger continues as new every few seconds, and not once a day. */
let code: string;
beforeAll(async () => {
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0 } });
  const { failureConverterPath } = encryptedDataConverter(settings(FIRST));
  const bundle = await bundleWorkflowCode({
    workflowsPath: join(__dirname, '../../workflows/index.ts'),
    ...(failureConverterPath && { failureConverterPath }),
  });
  code = bundle.code.replace(/\b(LONGEST_LEDGER_RUN_MS = )[^;]+/, '$13000');
  expect(code).not.toBe(bundle.code);
}, 120_000);
afterAll(() => env?.teardown());

jest.setTimeout(120_000);

const createWorker = (keys: string) =>
  env.createWorker({
    ...settings(keys),
    caps: { day: { videos: 100 } },
    worker: { workflowBundle: { code } },
  });

/** A video under a cap, by a client and a worker with these keys. */
async function makeVideo(keys: string): Promise<void> {
  const dataConverter = encryptedDataConverter(settings(keys));
  const client = new Client({ connection: env.temporal.connection, dataConverter });
  const videos = await createVideoClient({ client, taskQueue: DEFAULT_TASK_QUEUE });
  const worker = await createWorker(keys);
  await worker.runUntil(videos.execute({ request: { prompt: 'A fox' }, deadline: '30s' }));
}

/** As long as a namespace keeps ended jobs: a day at least, in which the ledger continues as new. */
async function retention(keys: string): Promise<void> {
  const ledger = env.temporal.client.workflow.getHandle(ledgerIdOf(DEFAULT_TASK_QUEUE));
  const { runId } = await ledger.describe();
  const worker = await createWorker(keys);
  await worker.runUntil(async () => {
    while ((await ledger.describe()).runId === runId) await pause();
  });
}

test('after the rotation that the page shows, videos under a cap are still made', async () => {
  await makeVideo(FIRST);
  await makeVideo(`${FIRST},${SECOND}`);
  await retention(`${SECOND},${FIRST}`);
  await makeVideo(SECOND);
});
