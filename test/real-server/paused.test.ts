import { randomUUID } from 'node:crypto';
import { run } from '../../src/cli/run';
import { VideoStates } from '../../src/gateway/video-states';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { FakeTerminal } from '../cli/fake-terminal';
import { captureLogs } from '../support/logs';
import { untilProgress } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  captureLogs();
  const dynamicConfig = { 'frontend.WorkflowPauseEnabled': 'true' };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig, emulator: { jobTimeMs: 0 } });
  const worker = await env.createWorker();
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
  };
});
afterAll(async () => {
  await stopWorker();
  await env.teardown();
});

/** A job that waits for a decision: it does not end while it is being paused. */
async function pausedJob() {
  env.emulator.next('submit', { kind: 'reset' });
  const workflowId = `fox ${randomUUID()}`;
  const job = await env.videos.start({ request, polling }, { workflowId });
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
  const { workflowService } = env.temporal.client;
  const named = { namespace: 'default', workflowId, identity: 'ann@desk', requestId: randomUUID() };
  await workflowService.pauseWorkflowExecution({ ...named, reason: 'no budget\u001b[2J' });
  const unpause = () => workflowService.unpauseWorkflowExecution({ ...named, reason: 'budget' });
  return { job, workflowId, unpause };
}

async function videogen(...args: string[]) {
  const terminal = new FakeTerminal({ TEMPORAL_ADDRESS: env.temporal.address }, false, true);
  const code = await run(args, terminal);
  return { code, out: terminal.stdout, err: terminal.stderr };
}

test('a job that somebody has paused in Temporal is open, says who paused it and why, and goes on when it is unpaused', async () => {
  const { job, workflowId, unpause } = await pausedJob();
  const paused = { name: workflowId, by: 'ann@desk', reason: 'no budget' };
  expect(await env.videos.find(workflowId)).toMatchObject({ state: 'needs-decision', paused });

  const listed: string[] = [];
  for await (const one of env.videos.list({ states: ['needs-decision'] })) listed.push(one.workflowId);
  expect(listed).toContain(workflowId);

  const { out } = await videogen('status', workflowId);
  expect(out).toMatch(/^paused {4}since \S+ by ann@desk: no budget/m);
  expect(out).toContain('no worker answers, until it is unpaused');
  expect(out).toContain(`temporal workflow unpause --workflow-id '${workflowId}'`);
  expect(out).not.toContain('No worker answers, so');

  const states = new VideoStates(env.temporal.client, createFileStorage(env.storageFolder));
  expect(await states.read(workflowId, 'task')).toMatchObject({ ending: undefined });

  await expect(job.decideSubmit({ decision: 'resubmit' })).rejects.toThrow(
    `is paused in Temporal and takes no decision: run temporal workflow unpause`,
  );
  // Whoever asks for the same video joins the paused job.
  const joined = await env.videos.start({ request, polling }, { workflowId });

  const phases: string[] = [];
  const follow = async () => {
    for await (const { phase } of joined.follow({ everyMs: 100 })) phases.push(phase);
  };
  const following = follow();
  await unpause();
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
  await job.decideSubmit({ decision: 'resubmit' });
  expect(await joined.result()).toHaveProperty('video');
  await following;
  expect(phases.at(-1)).toBe('succeeded');
});
