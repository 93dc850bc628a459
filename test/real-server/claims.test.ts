import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import type { VideoJob } from '../../src/client/video-job';
import { createVideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { workflowIdOf } from '../../src/gateway/task-names';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { FakeTerminal } from '../cli/fake-terminal';
import { captureLogs } from '../support/logs';
import { failureOf, inWorld, untilProgress, type World } from '../support/world';

const JOB_TIME_MS = 60_000;
const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
/** At the service: its tasks end when a test says so. */
let nowMs: number;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment({ server: 'dev' });
});
beforeEach(() => {
  nowMs = 0;
});
afterAll(() => env.teardown());

const inClaimWorld = (work: (world: World) => Promise<void>) =>
  inWorld(env, { jobTimeMs: JOB_TIME_MS, clock: () => nowMs }, work);

const newName = (what: string) => `${what}-${randomUUID().slice(0, 8)}`;

async function submitted({ videos }: World, workflowId = newName('first')) {
  const { taskId } = await videos.submit({ request, polling }, { workflowId });
  return { workflowId, taskId };
}

/** The job ends, and its task stays without a video. */
const terminate = (workflowId: string) =>
  env.temporal.client.workflow.getHandle(workflowId).terminate('a test');

async function adoptOnCommandLine({ taskQueue, storageFolder }: World, taskId: string) {
  const terminal = new FakeTerminal({
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
    VIDEOGEN_STORAGE: storageFolder,
    VIDEO_API_BASE_URL: 'http://127.0.0.1:9',
    VIDEO_API_KEY: 'sk-0123456789',
  });
  const code = await run(['generate', '--adopt', taskId], terminal);
  return { code, err: terminal.stderr };
}

async function held({ emulator, videos }: World): Promise<VideoJob> {
  emulator.next('submit', { kind: 'reset' });
  const job = await videos.start({ request, polling }, { workflowId: newName('held') });
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
  return job;
}

test('the task of a job that runs or has its video is not adopted again, and whoever tries learns which job has it', async () => {
  await inClaimWorld(async (world) => {
    const { emulator, videos } = world;
    const { workflowId, taskId } = await submitted(world);
    const sentence = `the task ${taskId} belongs to the job ${workflowId}, which is running or has its video`;
    const expectRefused = async () => {
      const failure = await failureOf(videos.execute({ taskId, polling }));
      expect(failure).toMatchObject({ type: 'InvalidRequest', message: expect.stringContaining(sentence) });
      const { code, err } = await adoptOnCommandLine(world, taskId);
      expect(code).toBe(2);
      expect(err).toContain(sentence);
      const job = await held(world);
      const refusal = await failureOf(job.decideSubmit({ decision: 'adopt', taskId }));
      expect(String(refusal)).toContain(`Task "${taskId}" is not adopted: ${sentence}. The job stays held.`);
      const lost = emulator.generations().at(-1)?.taskId ?? '';
      await job.decideSubmit({ decision: 'adopt', taskId: lost });
      expect(await job.taskId()).toBe(lost);
      await job.cancel();
    };
    await expectRefused();
    nowMs += JOB_TIME_MS;
    expect(await videos.handle(workflowId).result()).toMatchObject({ taskId });
    await expectRefused();
  });
});

test('the task of a job that ended without its video is picked up under another name, by one job', async () => {
  await inClaimWorld(async (world) => {
    const { emulator, videos } = world;
    const { workflowId, taskId } = await submitted(world);
    await terminate(workflowId);
    nowMs += JOB_TIME_MS;
    const names = [newName('second'), newName('third'), newName('fourth')];
    const ends = await Promise.allSettled(
      names.map((name) => videos.execute({ taskId, polling }, { workflowId: name })),
    );
    const winner = ends.findIndex(({ status }) => status === 'fulfilled');
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const end of ends)
      if (end.status === 'rejected')
        expect(String(end.reason)).toContain(`belongs to the job ${names[winner]}`);

    // Not even the job that made the task gets it back.
    const again = { taskQueue: world.taskQueue, workflowId, args: [{ taskId, polling }] };
    const first = await failureOf(env.temporal.client.workflow.execute('generateVideo', again));
    expect(String(Object(first).cause)).toContain(`belongs to the job ${names[winner]}`);
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('on the command line, the task of a job that ended without its video is picked up', async () => {
  await inClaimWorld(async (world) => {
    const { workflowId, taskId } = await submitted(world);
    await terminate(workflowId);
    nowMs += JOB_TIME_MS;
    expect(await adoptOnCommandLine(world, taskId)).toMatchObject({ code: 0 });
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

test('at the gateway, a task of another key or of no key gets the answer of one that does not exist', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-claims-'));
  const [shop, press] = [makeKey('shop'), makeKey('press')];
  writeFileSync(join(folder, 'keys.txt'), `${shop.line}\n${press.line}\n`);
  await inClaimWorld(async (world) => {
    const { emulator, videos, taskQueue, storageFolder } = world;
    const settings = {
      VIDEOGEN_TASK_QUEUE: taskQueue,
      VIDEOGEN_STORAGE: storageFolder,
      VIDEOGEN_GATEWAY_KEYS_FILE: join(folder, 'keys.txt'),
      VIDEOGEN_LOG_LEVEL: 'error',
    };
    const gateway = await createVideoGateway({ env: settings, client: env.temporal.client, port: 0 });
    try {
      const post = (path: string, { key }: { key: string }, body: object) =>
        fetch(`${gateway.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const start = async (caller: string, key: { key: string }) => {
        const { id } = JSON.parse(await (await post('/v1/videos/text-to-video', key, request)).text());
        return { id, job: videos.handle(workflowIdOf(caller, id)) };
      };
      const running = await start('press', press);
      const runningTask = await running.job.taskId();
      const ended = await start('press', press);
      const endedTask = await ended.job.taskId();
      await terminate(ended.job.workflowId);
      const { taskId: taskOfNoKey } = await submitted(world);

      emulator.next('submit', { kind: 'reset' });
      const { id, job } = await start('shop', shop);
      await untilProgress(job, ({ phase }) => phase === 'needs-decision');
      const adopt = async (taskId: string) => {
        const answer = await post(`/v1/videos/${id}/decision`, shop, { decision: 'adopt', taskId });
        const text = await answer.text();
        return [answer.status, text.replaceAll(taskId, 'TASK').replace(/req_\w+/g, 'REQUEST')];
      };
      const unknown = await adopt(`task_${randomUUID()}`);
      expect(unknown).toEqual([409, expect.stringContaining('the service does not know it')]);
      for (const taskId of [runningTask, endedTask, taskOfNoKey])
        expect(await adopt(taskId)).toEqual(unknown);

      const lost = emulator.generations().at(-1)?.taskId ?? '';
      const own = await start('shop', shop);
      const refused = await adopt(await own.job.taskId());
      expect(refused).toEqual([
        409,
        expect.stringContaining(`the task TASK belongs to the job ${own.job.workflowId}`),
      ]);
      expect((await adopt(lost))[0]).toBe(200);
      expect(await job.taskId()).toBe(lost);
    } finally {
      await gateway.close();
    }
  });
  rmSync(folder, { recursive: true });
});
