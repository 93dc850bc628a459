import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestOfJob, fileName } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld, untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(() => env.teardown());

function recordKey(workflowId: string): string {
  const digest = digestOfJob({ namespace: 'default', job: workflowId }, request);
  return `jobs/${fileName(workflowId)}.${digest.slice(0, 16)}/0001.json`;
}

const newName = () => `fox ${randomUUID().slice(0, 8)}`;

test('a retry finds the task on the record of an earlier job of the name, and pays for no second one', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storageFolder }) => {
    const { taskId } = await videos.execute({ request, polling });
    // What a job leaves that Temporal has forgotten since.
    const workflowId = newName();
    const record = join(storageFolder, recordKey(workflowId));
    await mkdir(dirname(record));
    await writeFile(record, '{ "damaged');
    const job = await videos.start({ request, polling, deadline: '8s' }, { workflowId });
    expect(await failureOf(job.result())).toMatchObject({ type: 'StorageFailed' });

    const at = new Date().toISOString();
    const entry = { id: randomUUID(), at, namespace: 'default', job: workflowId };
    await writeFile(record, JSON.stringify({ event: 'task', ...entry, taskId }));
    const retried = await videos.retry(workflowId, { deadline: '1m' });
    expect(retried).toMatchObject({ workflowId, isJoined: false });
    expect(await videos.handle(workflowId).result()).toMatchObject({ taskId });
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a retry of a job that sent nothing last keeps the key of what it sent before', async () => {
  const options = { jobTimeMs: 0, idempotencyKeys: 'honoured' } as const;
  await inWorld(env, options, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'reset' });
    emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    const workflowId = newName();
    const job = await videos.start({ request, polling, onLostSubmit: 'resubmit' }, { workflowId });
    expect(await failureOf(job.result())).toMatchObject({ type: 'Unauthorized' });

    const { workflowId: next } = await videos.retry(workflowId);
    await videos.handle(next).result();
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('retries at the same time are one job, with the key that the caller gave', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    const workflowId = newName();
    const given = { request, polling, idempotencyKey: 'order-7' };
    await failureOf((await videos.start(given, { workflowId })).result());
    const tried = await Promise.allSettled(Array.from({ length: 8 }, () => videos.retry(workflowId)));
    expect(tried.filter(({ status }) => status === 'fulfilled')).not.toHaveLength(0);
    await untilProgress(videos.handle(workflowId), ({ taskId }) => taskId !== undefined);
    expect(emulator.generations()).toMatchObject([{ idempotencyKey: 'order-7' }]);
    await videos.handle(workflowId).cancel();
  });
});
