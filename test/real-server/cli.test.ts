import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { EMULATED_JOB_MS } from '../../src/cli/emulated-job';
import { EXIT } from '../../src/cli/exit-codes';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { localTaskQueue } from '../../src/config/queues';
import { DEFAULT_TASK_QUEUE, POLL_NOW_SIGNAL, WORKFLOW_TYPE } from '../../src/contract/names';
import { type Emulator, startEmulator } from '../../src/emulator';
import { type CliEnd, endOf, Home, lastLine, until, untilErr } from '../cli/cli-process';
import { STEERING } from '../support/hostile-text';

// Several processes in sequence, each of which starts a server.
jest.setTimeout(120_000);

// The SDK tries to connect for ten seconds, so these run beside the other tests.
const NOWHERE = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
const service = { VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-x' };
const apart = new Home();
let withoutTemporal: Promise<[CliEnd, CliEnd]>;
beforeAll(() => {
  withoutTemporal = Promise.all([
    apart.run(['worker'], { ...NOWHERE, ...service }),
    apart.run(['generate', 'A red fox', '--json'], NOWHERE),
  ]);
});
afterAll(() => apart.remove());

let home: Home;
let emulator: Emulator;
beforeEach(async () => {
  home = new Home();
  emulator = await startEmulator({ jobTimeMs: 500, apiKey: 'sk-elsewhere' });
});
afterEach(async () => {
  await home.remove();
  await emulator.close();
});

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A client for jobs on the server that is running now, with its emulator. */
async function withVideos(use: (videos: VideoClient) => Promise<unknown>): Promise<void> {
  const connection = await Connection.connect({ address: home.note()?.address });
  const client = new Client({ connection });
  await use(
    await createVideoClient({ client, taskQueue: localTaskQueue({ VIDEOGEN_STORAGE: home.videos }) }),
  );
  await connection.close();
}

const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

test('three commands with one id are one job and one generation, and another request is refused', async () => {
  const args = ['generate', 'A red fox', '--seed', '7', '--id', 'fox', '--json'];
  const ends = await Promise.all([home.run(args), home.run([...args, '--out', 'copies/fox.mp4'])]);
  const [first, second] = ends.map((end) => {
    expect(end).toMatchObject({ code: 0 });
    // One line for programs; everything else goes to stderr.
    expect(end.out).toMatch(/^\{[^\n]*\}\n$/);
    expect(end.err).toMatch(
      /^Using the emulated video service, whose videos take 3 s; set VIDEO_API_BASE_URL/,
    );
    expect(end.err).toMatch(
      /^Job fox on task queue video-generation-emulator-[0-9a-f]{8}, shown at http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\/fox$/m,
    );
    return lastLine(end);
  });
  expect(home.paid()).toEqual([first?.taskId]);
  expect(second).toEqual({ ...first, copiedTo: join(home.folder, 'copies/fox.mp4') });
  expect(first).toMatchObject({
    workflowId: 'fox',
    video: { contentType: 'video/mp4', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const expected = first?.video.sha256;
  expect(sha256(fileURLToPath(first?.video.uri ?? ''))).toBe(expected);
  expect(sha256(join(home.folder, 'copies/fox.mp4'))).toBe(expected);

  const [third, other] = await Promise.all([
    home.run(args),
    home.run(['generate', 'A blue fox', '--seed', '8', '--id', 'fox', '--json']),
  ]);
  expect(third).toMatchObject({ code: 0 });
  expect(lastLine(third)).toEqual(first);
  expect(other).toMatchObject({ code: 2 });
  expect(lastLine(other)).toEqual({
    error: {
      type: 'InvalidRequest',
      message: expect.stringContaining('fox is the name of another job (it differs in prompt, seed)'),
      advice: expect.any(String),
    },
  });
  expect(home.paid()).toHaveLength(1);
  expect(home.processes()).toEqual([]);
});

test('a job with a hostile id is printed on one line, and the printed commands work for it', async () => {
  const id = "-fox\u001b[2J\n'$(touch x)'\u202e";
  const started = await home.run(['generate', 'A red fox', '--id', id, '--no-wait']);
  expect(started).toMatchObject({ code: 0, out: "-fox '$(touch x)'\n" });
  expect(started.err).not.toMatch(STEERING);
  expect(started.err).toMatch(/^Job -fox '\$\(touch x\)' on task queue \S+, shown at /m);
  const [, command = ''] = /Follow it with: videogen (.*)\n/.exec(started.err) ?? [];
  const typed = execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], {
    encoding: 'utf8',
    cwd: home.folder,
  });
  const followed = await home.run([...typed.split('\0').slice(0, -1), '--json']);
  expect(followed).toMatchObject({ code: 0 });
  expect(followed.out + followed.err).not.toMatch(STEERING);
  expect(lastLine(followed)).toMatchObject({ workflowId: id });
  expect(existsSync(join(home.folder, 'x'))).toBe(false);
});

test('a lost submit prints its decision commands, and is decided from another terminal', async () => {
  const elsewhere = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey };
  emulator.next('submit', { kind: 'reset' });
  const held = home.start(['generate', 'A red fox', '--id', 'fox', '--json'], elsewhere);
  await untilErr(held, /^ {2}videogen decide fox --adopt TASK_ID/m);
  const [lost] = emulator.generations();
  const decide = (...args: string[]) => home.run(['decide', ...args, '--json'], elsewhere);

  const refused = await Promise.all([
    decide('fox', '--adopt', ' '),
    decide('wolf', '--abandon'),
    decide('fox', '--adopt', 'WRONG99'),
  ]);
  for (const [end, words] of [
    [refused[0], 'taskId must be text'],
    [refused[1], 'There is no job wolf.'],
    [refused[2], 'Task "WRONG99" is not adopted: the service does not know it.'],
  ] as const) {
    expect(end).toMatchObject({ code: 2, err: expect.stringContaining(words) });
    expect(lastLine(end)).toEqual({
      error: { type: 'DecisionRefused', message: expect.stringContaining(words) },
    });
  }
  const decided = await decide('fox', '--adopt', lost?.taskId ?? '');
  expect(decided).toMatchObject({ code: 0 });
  expect(lastLine(decided)).toEqual({ workflowId: 'fox', decision: 'adopt', taskId: lost?.taskId });

  const end = await endOf(held);
  expect(end).toMatchObject({ code: 0 });
  expect(lastLine(end)).toMatchObject({ taskId: lost?.taskId });
  expect(emulator.generations()).toHaveLength(1);
});

test('an id whose job failed because of its API key generates the video once the key is right', async () => {
  const args = ['generate', 'A red fox', '--id', 'fox', '--json'];
  const service = { VIDEO_API_BASE_URL: emulator.url };
  expect(await home.run(args, { ...service, VIDEO_API_KEY: 'sk-wrong' })).toMatchObject({ code: 3 });
  const end = await home.run(args, { ...service, VIDEO_API_KEY: emulator.apiKey });
  expect(end).toMatchObject({ code: 0 });
  expect(emulator.generations().map(({ taskId }) => taskId)).toEqual([lastLine(end).taskId]);
});

test('decide warns that the job was started for another service', async () => {
  const elsewhere = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey };
  emulator.next('submit', { kind: 'reset' });
  const held = home.start(['generate', 'A red fox', '--id', 'fox'], elsewhere);
  await untilErr(held, /^ {2}videogen decide fox --adopt TASK_ID/m);
  const decided = await home.run(['decide', 'fox', '--abandon']);
  expect(decided).toMatchObject({
    code: 0,
    err: expect.stringContaining('fox was started for another service'),
  });
  expect(decided.err).not.toContain('emulated');
  expect(decided.err).toContain('Decided: abandon. The job ends.');
  expect(await endOf(held)).toMatchObject({ code: 8 });
});

test('a lost submit with --on-lost-submit fail exits with its code, and says how to adopt the task later', async () => {
  const elsewhere = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey };
  emulator.next('submit', { kind: 'reset' });
  const end = await home.run(['generate', 'A red fox', '--on-lost-submit', 'fail'], elsewhere);
  expect(end).toMatchObject({ code: 8, out: '' });
  expect(end.err).toMatch(/ pick it up with: videogen generate --adopt TASK_ID\n$/);
});

test('Ctrl-C while Temporal is still starting pays for nothing', async () => {
  const left = home.start(['generate', 'A red fox', '--id', 'early']);
  await untilErr(left, /^Using the emulated video service/m);
  left.kill('SIGINT');
  expect(await endOf(left)).toMatchObject({
    code: 130,
    err: expect.stringMatching(/Stopped before the job was started/),
  });
  expect(home.paid()).toEqual([]);
  expect(home.processes()).toEqual([]);
});

test('Ctrl-C leaves the job and prints how to resume it, and resuming stores the video of the same task', async () => {
  // What a crash of the machine leaves: a lock and a note with a pid that another process has now.
  const token = `${process.pid}-gone`;
  mkdirSync(join(home.data, 'stack.lock'), { recursive: true });
  writeFileSync(join(home.data, 'stack.lock', token), hostname());
  utimesSync(join(home.data, 'stack.lock', token), 1, 1);
  const gone = { pid: process.pid, serverPid: process.pid, address: '127.0.0.1:1', namespace: 'default' };
  writeFileSync(join(home.data, 'stack.json'), JSON.stringify(gone));

  const left = home.start(['generate', 'A red fox', '--id', 'left', '--json']);
  await untilErr(left, /^waiting.* task task_/m);
  const serverPid = home.note()?.serverPid ?? 0;
  expect(isAlive(serverPid)).toBe(true);
  left.kill('SIGINT');
  expect(await endOf(left)).toMatchObject({
    code: 130,
    out: '',
    err: expect.stringMatching(/Pick it up again with: videogen generate --id left\n$/),
  });
  // The printed link no longer works.
  expect(left.err()).toContain(
    `\nThis Temporal UI ends with the command; to open it again, run: VIDEOGEN_DATA=${home.data} videogen dev\n`,
  );
  expect(home.note()).toBeUndefined();
  expect(isAlive(serverPid)).toBe(false);
  expect(home.processes()).toEqual([]);

  const again = await home.run(['generate', '--id', 'left', '--out', 'left.mp4']);
  expect(again).toEqual({
    code: 0,
    out: `${join(home.folder, 'left.mp4')}\n`,
    err: expect.stringContaining(`of task ${home.paid()[0]} after`),
  });
  expect(readFileSync(join(home.folder, 'left.mp4')).subarray(4, 8).toString()).toBe('ftyp');
  expect(home.paid()).toHaveLength(1);
});

test('a job continues when dev ends, and dev still has it after a kill', async () => {
  const dev = home.start(['dev']);
  await untilErr(dev, 'Ctrl-C ends everything');
  const uiUrl = /^Temporal UI {4}(http:\S+)$/m.exec(dev.err())?.[1] ?? '';
  expect((await fetch(uiUrl)).status).toBe(200);
  expect(dev.err()).toMatch(/^Temporal {7}127\.0\.0\.1:\d+$/m);
  const ownQueue = localTaskQueue({ VIDEOGEN_STORAGE: home.videos });
  expect(dev.err()).toContain(`
Task queues    video-generation, for programs without a worker of their own
               ${ownQueue}, for videogen generate and batch
`);
  expect(dev.err()).toMatch(/^Video service {2}http:\S+ \(the emulator\)$/m);

  const [secondDev, unwatched, unknown] = await Promise.all([
    home.run(['dev']),
    home.run(['generate', 'A grey fox', '--id', 'unwatched', '--no-wait']),
    home.run(['generate', '--id', 'nobody']),
  ]);
  expect(secondDev).toEqual({ code: 0, out: '', err: expect.stringContaining(`its UI is at ${uiUrl}.`) });
  const [exported = ''] =
    /^Your programs {2}export TEMPORAL_ADDRESS=.* VIDEO_API_KEY=.*$/m.exec(dev.err()) ?? [];
  expect(secondDev.err).toContain(`\n${exported}\n`);
  expect(unwatched).toMatchObject({
    code: 0,
    out: 'unwatched\n',
    err: expect.not.stringContaining('UI ends'),
  });
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('there is no job nobody yet') });

  // It polls only on request, so that it cannot end before dev does.
  const late = { request: { prompt: 'A red fox' }, polling: { min: '1h' }, deadline: '2h' };
  await withVideos((videos) => videos.start(late, { workflowId: 'kept' }));
  const kept = home.start(['generate', 'A red fox', '--id', 'kept', '--json']);
  await untilErr(kept, /^waiting.* task task_/m);
  const isMade = sleep(EMULATED_JOB_MS);
  expect(kept.err()).toContain(
    `Job kept on task queue ${ownQueue}, shown at ${uiUrl}/namespaces/default/workflows/kept`,
  );
  dev.kill('SIGINT');
  expect(await endOf(dev)).toMatchObject({ code: 0, out: '' });
  await until('a server of its own', () => home.note() !== undefined, kept.err);
  await isMade;
  await withVideos((videos) => videos.handle('kept').pollNow());
  const keptEnd = await endOf(kept);
  expect(keptEnd).toMatchObject({ code: 0, err: expect.stringContaining('Continuing without it') });
  const result = lastLine(keptEnd);
  expect(home.processes()).toEqual([]);

  const killed = home.start(['dev']);
  await untilErr(killed, 'Ctrl-C ends everything');
  const orphan = home.note()?.serverPid ?? 0;
  // It does not respond for a while, as on a busy machine, but still locks its database.
  process.kill(orphan, 'SIGSTOP');
  killed.kill('SIGKILL');
  await killed.ended;
  const last = home.start(['dev']);
  await sleep(5_000);
  process.kill(orphan, 'SIGCONT');
  await untilErr(last, 'Ctrl-C ends everything');
  expect(isAlive(orphan)).toBe(false);
  expect(home.note()?.serverPid).not.toBe(orphan);

  const [again, adopted, ended] = await Promise.all([
    home.run(['generate', '--id', 'kept', '--json']),
    home.run(['generate', '--adopt', result.taskId, '--id', 'adopted', '--json']),
    home.run(['generate', '--id', 'unwatched', '--json']),
  ]);
  expect([again.code, adopted.code, ended.code]).toEqual([0, 0, 0]);
  expect(lastLine(again)).toEqual(result);
  const { sha256: expected } = result.video;
  expect(lastLine(adopted)).toMatchObject({
    workflowId: 'adopted',
    taskId: result.taskId,
    video: { sha256: expected },
  });
  expect(sha256(join(home.videos, 'adopted.mp4'))).toBe(expected);
  expect(home.paid().sort()).toEqual([result.taskId, lastLine(ended).taskId].sort());

  last.kill('SIGTERM');
  expect(await endOf(last)).toMatchObject({ code: 0 });
  await until('the note removed', () => !existsSync(join(home.data, 'stack.json')));
  expect(home.processes()).toEqual([]);
}, 240_000);

test('generate joins a job that another program started on the queue of dev', async () => {
  const dev = home.start(['dev']);
  await untilErr(dev, 'Ctrl-C ends everything');
  const connection = await Connection.connect({ address: home.note()?.address });
  const client = new Client({ connection });
  // It polls only on request, so that it cannot end before it is joined.
  const input = { request: { prompt: 'A red fox', duration: 5 }, polling: { min: '1h' }, deadline: '2h' };
  const started = await client.workflow.start(WORKFLOW_TYPE, {
    workflowId: 'fox',
    taskQueue: DEFAULT_TASK_QUEUE,
    args: [input],
  });
  const joined = home.start(['generate', 'A red fox', '--duration', '5', '--id', 'fox', '--json']);
  await untilErr(joined, /^Job fox on task queue video-generation, shown at /m);
  expect(joined.err()).toContain('fox was started by another program: it continues while videogen dev ');
  await untilErr(joined, /^waiting.* task task_/m);
  await sleep(EMULATED_JOB_MS);
  await started.signal(POLL_NOW_SIGNAL);
  const end = await endOf(joined);
  expect(end).toMatchObject({ code: 0 });
  expect(home.paid()).toEqual([lastLine(end).taskId]);

  await client.workflow.start(WORKFLOW_TYPE, { workflowId: 'film', taskQueue: 'films', args: [input] });
  const [ended, other, film] = await Promise.all([
    home.run(['generate', '--id', 'fox', '--json']),
    home.run(['generate', 'A blue fox', '--id', 'fox', '--json']),
    home.run(['generate', '--id', 'film', '--no-wait']),
  ]);
  expect(film.err).toContain(
    'film is on task queue films, which this command has no worker for: it continues while a worker of that queue runs.\n',
  );
  expect(film.err).not.toContain('another service');
  expect(lastLine(ended)).toEqual(lastLine(end));
  expect(ended.err).not.toContain('another program');
  expect(other).toMatchObject({
    code: 2,
    err: expect.stringMatching(/\(it differs in prompt, duration\)\. Choose another name\.\n$/),
  });
  await connection.close();
});

test('the environment alone selects another service and another Temporal server', async () => {
  const named = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: 'sk-elsewhere' };
  const dev = home.start(['dev']);
  await untilErr(dev, 'Ctrl-C ends everything');
  const elsewhere = {
    ...named,
    TEMPORAL_ADDRESS: home.note()?.address ?? '',
    VIDEOGEN_TASK_QUEUE: 'elsewhere',
  };
  const worker = home.start(['worker'], elsewhere);
  const ends = await Promise.all([
    // Its service is not that of dev, so it runs its own worker.
    home.run(['generate', 'A red fox', '--id', 'beside', '--json'], named),
    home.run(['generate', 'A grey fox', '--id', 'elsewhere', '--json'], elsewhere),
  ]);
  const taskIds = ends.map((end) => {
    expect(end).toMatchObject({ code: 0, err: expect.not.stringContaining('emulated') });
    return lastLine(end).taskId;
  });
  expect(
    emulator
      .generations()
      .map(({ taskId }) => taskId)
      .sort(),
  ).toEqual(taskIds.sort());
  expect(home.paid()).toEqual([]);

  worker.kill('SIGTERM');
  dev.kill('SIGTERM');
  const [workerEnd, devEnd] = await Promise.all([endOf(worker), endOf(dev)]);
  expect([workerEnd.code, devEnd.code]).toEqual([0, 0]);
  expect(workerEnd.err).toContain('Working on task queue elsewhere.');
  for (const { err } of [...ends, workerEnd, devEnd]) expect(err).not.toContain('sk-elsewhere');
  expect(home.processes()).toEqual([]);
});

test('worker and generate without a Temporal server, and dev without its port, fail with one sentence', async () => {
  const [unnamed, dev] = await Promise.all([
    home.run(['worker'], NOWHERE),
    home.run(['dev', '--port', new URL(emulator.url).port]),
  ]);
  expect(unnamed).toMatchObject({ code: 2, out: '' });
  expect(unnamed.err).toMatch(/^VIDEO_API_BASE_URL is not set: .+\.\n$/);
  expect(dev.code).toBe(EXIT.usage);
  expect(dev.err).toMatch(/^The Temporal dev server cannot start on .+ because that port is in use: .+\.\n$/);
  expect(home.note()).toBeUndefined();

  const [worker, job] = await withoutTemporal;
  for (const { code, err } of [worker, job]) {
    expect(code).toBe(EXIT.noTemporal);
    expect(err).toMatch(/^Temporal cannot be reached at 127\.0\.0\.1:1 \(.+\): .+\.\n$/);
  }
  expect(lastLine(job)).toEqual({ error: { type: 'TemporalUnreachable', message: job.err.trimEnd() } });
});
