import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckReport } from '../../src/cli/doctor';
import { run } from '../../src/cli/run';
import { createVideoClient } from '../../src/client/video-client';
import type { VideoJob } from '../../src/client/video-job';
import type { BatchProgress } from '../../src/contract/batch';
import { VideoStates } from '../../src/gateway/video-states';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { runHere } from '../cli/cli-here';
import { FakeTerminal } from '../cli/fake-terminal';
import { commandsOf, expectShown, readPage, sectionOf } from '../support/docs-page';
import { captureLogs } from '../support/logs';
import { inWorld, pause, untilProgress, type World } from '../support/world';

const request = { prompt: 'A red fox' };
const polling = { min: '1s', max: '1s' } as const;

let env: VideoTestEnvironment;
let folder: string;
beforeAll(async () => {
  captureLogs();
  folder = mkdtempSync(join(tmpdir(), 'videogen-commands-'));
  const dynamicConfig = { 'frontend.WorkflowPauseEnabled': 'true' };
  env = await createVideoTestEnvironment({ server: 'dev', dynamicConfig });
});
afterAll(async () => {
  await env.teardown();
  rmSync(folder, { recursive: true });
});

const settings = () => ({ TEMPORAL_ADDRESS: env.temporal.address, HOME: folder });

const videogen = (args: string[], more: Record<string, string> = {}) =>
  runHere(args, { ...settings(), ...more });
/** On a terminal, where people read tables instead of JSON. */
const shownBy = (args: string[]) => runHere(args, settings(), true);

/** The objects of standard output, one a line. */
async function json(args: string[]) {
  const { code, out, err } = await videogen(args);
  const lines = out.trimEnd().split('\n').filter(Boolean);
  return { code, err, rows: lines.map((line): Record<string, unknown> => JSON.parse(line)) };
}

/** Names that no other test has, and that a shell must be told apart. */
const newName = (what: string) => `${what} ${randomUUID().slice(0, 8)}`;

async function ended(job: VideoJob): Promise<VideoJob> {
  await job.result().catch(() => undefined);
  return job;
}

/** A job of each kind. The last one has no worker. */
async function jobsOfEachKind({ emulator, videos }: World) {
  const start = (what: string, client = videos) =>
    client.start({ request, polling }, { workflowId: newName(what) });
  const stored = await ended(await start('stored'));
  emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
  const failed = await ended(await start('failed'));
  emulator.next('submit', { kind: 'reset' });
  const held = await start('held');
  await untilProgress(held, ({ phase }) => phase === 'needs-decision');
  const nobody = await createVideoClient({ client: env.temporal.client, taskQueue: 'nobody' });
  const waiting = await start('waiting', nobody);
  return { stored, failed, held, waiting };
}

const terminate = ({ workflowId }: VideoJob) =>
  env.temporal.client.workflow.getHandle(workflowId).terminate();

test('list, status and the filters show jobs of each kind, without a worker too', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { stored, failed, held, waiting } = await jobsOfEachKind(world);
    const expected = [
      { workflowId: waiting.workflowId, state: 'running', phase: 'submitting', taskQueue: 'nobody' },
      { workflowId: held.workflowId, state: 'needs-decision', phase: 'needs-decision' },
      { workflowId: failed.workflowId, state: 'failed', failure: 'GenerationFailed' },
      { workflowId: stored.workflowId, state: 'succeeded', taskId: expect.any(String) },
    ];
    for (;;) {
      const { rows } = await json(['list', '--since', '1h']);
      if (rows.length === 4 && rows[2]?.endedAt && rows[3]?.endedAt) {
        expect(rows).toMatchObject(expected);
        break;
      }
      await pause();
    }
    const names = async (...args: string[]) =>
      (await json(['list', ...args])).rows.map(({ workflowId }) => workflowId);
    expect(await names('--state', 'needs-decision', 'succeeded')).toEqual([
      held.workflowId,
      stored.workflowId,
    ]);
    expect(await names('--failure', 'GenerationFailed')).toEqual([failed.workflowId]);
    expect(await names('--failure', 'NoVideo')).toEqual([]);
    expect(await names('--since', '2999-01-01')).toEqual([]);

    const table = await shownBy(['list', '--limit', '2']);
    expect(table.out.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^NAME +STATE +AGE +PHASE$/),
      expect.stringMatching(/^waiting [0-9a-f]{8} +running +\d+ s +submitting$/),
      expect.stringMatching(/^held [0-9a-f]{8} +needs-decision +\d+ s +needs-decision$/),
    ]);
    expect(table.err).toBe('These are the newest 2; there are more: raise --limit.\n');

    const status = async (name: string) => (await json(['status', name])).rows[0];
    expect(await status(stored.workflowId)).toMatchObject({
      summary: 'text to video: "A red fox"',
      result: { video: { uri: expect.stringMatching(/^file:/) } },
      commands: [`videogen generate --id '${stored.workflowId}' --out FILE.mp4`],
    });
    expect(await status(failed.workflowId)).toMatchObject({
      error: { type: 'GenerationFailed', message: expect.stringContaining('no foxes today') },
      // The same request again would be paid again.
      commands: [],
    });
    expect(await status(held.workflowId)).toMatchObject({
      progress: { hold: { message: expect.any(String) } },
      commands: [
        expect.stringMatching(/^videogen decide 'held .+' --adopt TASK_ID$/),
        expect.any(String),
        expect.any(String),
      ],
    });
    expect(await status(waiting.workflowId)).toMatchObject({
      note: expect.stringMatching(
        /^No worker answers, so this is what Temporal knows\. No worker polls task queue nobody/,
      ),
    });
    const shown = await shownBy(['status', held.workflowId]);
    expect(shown.out).toMatch(
      /^job {7}held [0-9a-f]{8}\nrequest {3}text to video: "A red fox"\nstate {5}needs-decision\n/,
    );

    const terminal = new FakeTerminal(settings());
    const watching = run(['watch', waiting.workflowId], terminal);
    while (!terminal.stderr.includes('No worker polls task queue nobody')) await pause();
    terminal.interrupt();
    expect(await watching).toBe(130);
    expect(terminal.stderr).toMatch(/Stopped watching\. Nothing is cancelled\.\n$/);

    await held.decideSubmit({ decision: 'abandon' });
    await terminate(waiting);
    expect(await status(waiting.workflowId)).toMatchObject({ state: 'cancelled', failure: 'Cancelled' });
    while (!(await names('--failure', 'Cancelled')).includes(waiting.workflowId)) await pause();
  });
});

test('a name that is not there, or that is something else, is explained', async () => {
  const { client } = env.temporal;
  const [job, other] = [newName('fox'), newName('film')];
  const handles = await Promise.all([
    client.workflow.start('generateVideo', { workflowId: job, taskQueue: 'nobody', args: [{ request }] }),
    client.workflow.start('makeFilm', { workflowId: other, taskQueue: 'nobody' }),
  ]);
  const commands = [
    ['status'],
    ['watch'],
    ['cancel'],
    ['retry'],
    ['decide', '--abandon'],
    ['generate', '--json', '--id'],
  ];
  for (const command of commands) {
    const { code, err } = await videogen([...command, `${job}x`]);
    expect([code, err]).toEqual([2, expect.stringMatching(/^There is no job fox .*x\. .+\n$/)]);
    const answer = await videogen([...command, other]);
    expect([answer.code, answer.err]).toEqual([2, expect.stringContaining(`There is no job ${other}.`)]);
  }
  expect(await videogen(['status', ' '])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^The name of a job must be text of at most 1000 bytes, not blank .*\.\n$/),
  });
  await Promise.all(handles.map((handle) => handle.terminate()));
});

test('a cancelled job is retried with its task, which is not paid again, and only once', async () => {
  await inWorld(env, { jobTimeMs: 60_000 }, async ({ emulator, videos }) => {
    const job = await videos.start({ request, polling }, { workflowId: newName('fox') });
    await untilProgress(job, ({ taskId }) => taskId !== undefined);
    const [task] = emulator.generations();
    const { workflowId } = job;
    expect(await videogen(['retry', workflowId])).toMatchObject({
      code: 2,
      err: `${workflowId} is still running.\n  videogen watch '${workflowId}'\n  videogen cancel '${workflowId}'\n`,
    });
    expect(await json(['cancel', workflowId, '--json'])).toMatchObject({
      code: 0,
      err: expect.stringContaining(`videogen retry '${workflowId}'`),
      rows: [{ workflowId, state: 'cancelled', taskId: task?.taskId }],
    });
    expect((await videogen(['cancel', workflowId])).code).toBe(0);

    const name = `${workflowId}-retry-1`;
    const first = await json(['retry', workflowId, '--json']);
    const again = await json(['retry', workflowId, '--json']);
    expect([...first.rows, ...again.rows]).toMatchObject([
      { retryOf: workflowId, workflowId: name, adopted: task?.taskId, isJoined: false },
      { workflowId: name, isJoined: true },
    ]);
    expect(first.err).toContain(`Follow it with: videogen watch '${name}'`);
    await untilProgress(videos.handle(name), ({ phase }) => phase === 'waiting');
    expect(await videos.find(name)).toMatchObject({ taskId: task?.taskId });

    // A retry is retried under the next name. It adopted a task, so it has no request to submit.
    expect((await videogen(['cancel', name])).code).toBe(0);
    expect((await videogen(['retry', workflowId])).err).toContain(
      `${workflowId} was retried before, as ${name}: continue with that one.`,
    );
    const refused = await videogen(['retry', name, '--resubmit']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('Start a new job.') });
    const last = (await videogen(['retry', name])).out.trim();
    expect(last).toBe(`${workflowId}-retry-2`);
    expect(emulator.generations()).toHaveLength(1);
    await videos.handle(last).cancel();
    await ended(videos.handle(last));
  });
});

test('refused content is not sent again before a decision: the commands of its page', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'refused-content', stage: 'prompt' });
    const workflowId = 'fox-1';
    await ended(await videos.start({ request, polling }, { workflowId }));
    while ((await json(['list', '--failure', 'ContentRefused'])).rows.length === 0) await pause();
    const commands = commandsOf(sectionOf(readPage('failures.md'), 'What you see'));
    expect(commands).toHaveLength(3);
    for (const shown of commands) {
      const [program, ...args] = shown.command.split(' ');
      expect(program).toBe('videogen');
      const printed = await shownBy(args);
      expectShown(shown, printed.out + printed.err);
    }
    const submits = () => emulator.calls.filter(({ call }) => call === 'submit').length;
    expect(submits()).toBe(1);

    const { out, err } = await videogen(['retry', workflowId, '--resubmit']);
    expect([out, err]).toEqual([`${workflowId}\n`, expect.stringContaining('watch')]);
    expect((await videos.handle(workflowId).result()).taskId).toBe(emulator.generations()[0]?.taskId);
    expect(submits()).toBe(2);
  });
});

test('items of a batch are jobs of their own, which name the batch', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos }) => {
    emulator.next('submit', { kind: 'refused', status: 400, message: 'no' });
    const batch = await videos.startBatch(
      { requests: [request, { prompt: 'A hare' }], window: 1, polling },
      { workflowId: newName('foxes') },
    );
    const { workflowId } = batch;
    await batch.result();
    expect(await videos.find(workflowId)).toMatchObject({
      kind: 'batch',
      state: 'failed',
      counts: { items: 2, succeeded: 1, failed: 1 },
    });
    const item = (await json(['status', `${workflowId}-2`])).rows[0];
    expect(item).toMatchObject({ kind: 'job', madeFor: 'batch', parentId: workflowId, phase: 'succeeded' });
    expect((await shownBy(['status', `${workflowId}-1`])).out).toMatch(
      /^(.*\n)*problem {3}The request was refused.*\n(.*\n)*batch {5}foxes /,
    );
    expect((await videogen(['generate', '--id', workflowId])).err).toContain(
      'is a batch: name one of its items',
    );
    expect((await videogen(['cancel', `${workflowId}-1`])).err).toContain('has already ended');
    expect(await json(['watch', workflowId])).toMatchObject({ code: 21, rows: [{ state: 'failed' }] });
    // What is left is tried again under the same name, which never pays for the others again.
    expect((await videogen(['retry', workflowId])).out).toBe(`${workflowId}\n`);
    expect(await batch.result()).toMatchObject({ succeeded: 1, failed: 1 });
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a job that somebody has paused in Temporal is open, says who paused it and why, and goes on when it is unpaused', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, videos, storageFolder }) => {
    // It waits for a decision, so that it does not end while it is being paused.
    emulator.next('submit', { kind: 'reset' });
    const workflowId = newName('fox');
    const job = await videos.start({ request, polling }, { workflowId });
    await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    const { client } = env.temporal;
    const named = { namespace: 'default', workflowId, identity: 'ann@desk', requestId: randomUUID() };
    await client.workflowService.pauseWorkflowExecution({ ...named, reason: 'no budget\u001b[2J' });

    const paused = { name: workflowId, by: 'ann@desk', reason: 'no budget' };
    expect(await videos.find(workflowId)).toMatchObject({ state: 'needs-decision', paused });
    const listed: string[] = [];
    for await (const one of videos.list({ states: ['needs-decision'] })) listed.push(one.workflowId);
    expect(listed).toContain(workflowId);
    const { out } = await shownBy(['status', workflowId]);
    expect(out).toMatch(/^paused {4}since \S+ by ann@desk: no budget/m);
    expect(out).toContain('no worker answers, until it is unpaused');
    expect(out).toContain(`temporal workflow unpause --workflow-id '${workflowId}'`);
    expect(out).not.toContain('No worker answers, so');
    const states = new VideoStates(client, createFileStorage(storageFolder));
    expect(await states.read(workflowId, 'task')).toMatchObject({ ending: undefined });
    await expect(job.decideSubmit({ decision: 'resubmit' })).rejects.toThrow(
      `is paused in Temporal and takes no decision: run temporal workflow unpause`,
    );

    // Whoever asks for the same video joins the paused job.
    const joined = await videos.start({ request, polling }, { workflowId });
    await client.workflowService.unpauseWorkflowExecution({ ...named, reason: 'budget' });
    await untilProgress(job, ({ phase }) => phase === 'needs-decision');
    await job.decideSubmit({ decision: 'resubmit' });
    expect(await joined.result()).toHaveProperty('video');
  });
});

test('doctor finds the workers of a queue, and names a missing worker or namespace with what to do', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ emulator, taskQueue, storageFolder }) => {
    const examine = async (more: Record<string, string> = {}) => {
      const { code, out } = await videogen(['doctor', '--json'], {
        VIDEOGEN_TASK_QUEUE: taskQueue,
        VIDEO_API_BASE_URL: emulator.url,
        VIDEO_API_KEY: emulator.apiKey,
        VIDEOGEN_STORAGE: join(storageFolder, 'videos'),
        ...more,
      });
      const { ok, checks }: { ok: boolean; checks: CheckReport[] } = JSON.parse(out);
      return { code, ok, checks: Object.fromEntries(checks.map(({ name, ...check }) => [name, check])) };
    };
    let report = await examine();
    for (; !report.ok; report = await examine()) await pause();
    expect(report).toMatchObject({
      code: 0,
      checks: {
        versions: { ok: true, found: expect.stringMatching(/, server \d+\.\d+\.\d+$/) },
        temporal: { ok: true, found: `answers at ${env.temporal.address}` },
        namespace: { ok: true, found: 'default retains ended jobs for 24 h' },
        workers: { ok: true, found: `1 on ${taskQueue}` },
        service: { ok: true },
      },
    });
    for (const queue of ['VIDEOGEN_TASK_QUEUE', 'VIDEOGEN_DOWNLOAD_QUEUE']) {
      const { code, checks } = await examine({ [queue]: 'deserted' });
      const fix = 'Start one with: videogen worker';
      expect([code, checks.workers]).toEqual([2, { ok: false, found: 'no worker polls deserted', fix }]);
    }
    const { code, checks } = await examine({ TEMPORAL_NAMESPACE: 'nowhere' });
    expect(code).toBe(2);
    expect(checks).toMatchObject({
      temporal: { ok: true },
      namespace: {
        ok: false,
        found: 'there is no namespace nowhere',
        fix: expect.stringContaining('temporal operator namespace create --namespace nowhere'),
      },
      workers: { ok: false, found: 'skipped: it needs namespace' },
    });
    expect(emulator.generations()).toEqual([]);
  });
});

test('for await follows a batch or a job until it has ended, or was terminated', async () => {
  await inWorld(env, { jobTimeMs: 1_000 }, async ({ videos }) => {
    const requests = [1, 2, 3].map((number) => ({ prompt: `Fox ${number}` }));
    const batch = await videos.startBatch({ requests, window: 2, polling });
    const all: BatchProgress[] = [];
    for await (const progress of batch.follow({ everyMs: 100 })) all.push(progress);
    expect(all.at(-1)).toMatchObject({ items: 3, succeeded: 3, running: [] });
    expect(Math.max(...all.map(({ running }) => running.length))).toBe(2);

    const job = await videos.start({ request, polling });
    const phases = new Set<string>();
    for await (const { phase } of job.follow({ everyMs: 100 })) phases.add(phase);
    expect([...phases]).toEqual(expect.arrayContaining(['waiting', 'succeeded']));

    const endless = await videos.start({ request, polling: { min: '1h' } });
    for await (const { phase } of endless.follow({ everyMs: 20 })) if (phase === 'waiting') break;
    const followed = (async () => {
      for await (const _ of endless.follow({ everyMs: 20 })) await pause();
    })();
    await terminate(endless);
    await followed;
  });
});
