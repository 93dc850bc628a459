import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { EXIT } from '../../src/cli/terminal';
import { createVideoClient } from '../../src/client/video-client';
import { localTaskQueue } from '../../src/config/queues';
import { parseResults } from '../../src/contract/batch';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { runHere, startHere } from '../cli/cli-here';
import { type CliEnd, type CliProcess, endOf, Home, lastLine, untilErr } from '../cli/cli-process';
import { commandsOf, expectShown, readPage, sectionOf, wordsOf } from '../support/docs-page';
import { QUICK_PROFILE } from '../support/quick-profile';

// A busy machine starts several processes here.
jest.setTimeout(120_000);

/** Workers of these processes run workflows in their main thread: another one takes half a second to start. */
const ONE_THREAD = { TEMPORAL_DEBUG: '1' };

const home = new Home();
let emulator: Emulator;
let other: Emulator;
let service: Record<string, string>;
let dev: CliProcess;
let client: Client;
let withoutTemporal: Promise<CliEnd>;

// One dev for all tests of this file. It calls the emulator of this process.
beforeAll(async () => {
  emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024, apiKey: 'sk-elsewhere' });
  other = await startEmulator({ jobTimeMs: 0, apiKey: 'sk-other' });
  service = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey, ...QUICK_PROFILE };
  // The SDK tries to connect for ten seconds, so this runs beside the other tests.
  withoutTemporal = videogen(['generate', 'A red fox', '--json'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  dev = home.start(['dev'], { ...service, ...ONE_THREAD, VIDEOGEN_DOWNLOAD_QUEUE: 'shared' });
  await untilErr(dev, 'Ctrl-C ends everything');
  client = new Client({ connection: await Connection.connect({ address: home.note()?.address }) });
});
afterAll(async () => {
  await withoutTemporal;
  await client?.connection.close();
  await home.remove();
  await Promise.all([emulator.close(), other.close()]);
});

const otherService = () => ({
  VIDEO_API_BASE_URL: other.url,
  VIDEO_API_KEY: other.apiKey,
  ...QUICK_PROFILE,
});

/** A command in this process, which joins the running dev unless its environment says otherwise. */
function start(args: string[], env: Record<string, string> = {}): CliProcess {
  const own = { VIDEOGEN_DATA: home.data, VIDEOGEN_STORAGE: home.videos };
  return startHere(args, { ...own, ...service, ...env });
}

const videogen = (args: string[], env?: Record<string, string>) => endOf(start(args, env));

/** The tasks that the emulator made since the given number of them. */
const madeSince = (count: number) =>
  emulator
    .generations()
    .slice(count)
    .map(({ taskId }) => taskId);

const uiUrl = () => /^Temporal UI {4}(http:\S+)$/m.exec(dev.err())?.[1] ?? '';
const modeFrom = ({ mode }: { mode: number }) => (mode & 0o777).toString(8);
const modeOf = (path: string) => modeFrom(statSync(path));

/** Each file in a data folder with its mode. SQLite's journals come and go, so one may be gone before it is asked. */
function modesIn(folder: string): [name: string, mode: string][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found?.isFile() ? [[name, modeFrom(found)]] : [];
  });
}

test('dev with a named service says what programs export, makes the data private and retains jobs for 90 days', async () => {
  expect(dev.err()).toMatch(/^Your programs {2}export TEMPORAL_ADDRESS=\S+ VIDEOGEN_STORAGE=file:\S+$/m);
  expect(modeOf(home.data)).toBe('700');
  const modes = modesIn(home.data);
  expect(modes.map(([name]) => name)).toEqual(expect.arrayContaining(['temporal.db', 'temporal.log']));
  expect(modes.filter(([, mode]) => mode !== '600')).toEqual([]);

  const { config } = await client.workflowService.describeNamespace({ namespace: 'default' });
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(90 * 24 * 3_600);
});

/** The names of those that are ours. */
async function searchAttributesOf(workflowId: string): Promise<string[]> {
  const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
  return typedSearchAttributes
    .getAll()
    .map(({ key }) => key.name)
    .filter((name) => name.startsWith('Video'));
}

describe('generate beside dev', () => {
  test('three times with one id is one job and one generation, and another request is refused', async () => {
    const before = emulator.generations().length;
    const args = ['generate', 'A red fox', '--seed', '7', '--id', 'fox', '--json'];
    const [first, second] = (await Promise.all([videogen(args), videogen(args)])).map((end) => {
      expect(end).toMatchObject({ code: 0 });
      expect(end.out).toMatch(/^\{[^\n]*\}\n$/);
      expect(end.err).not.toMatch(/emulated|keeps what|UI ends/);
      return lastLine(end);
    });
    const [third, other, adopted] = await Promise.all([
      videogen(['generate', '--id', 'fox', '--json']),
      videogen(['generate', 'A blue fox', '--seed', '8', '--id', 'fox', '--json']),
      videogen(['generate', '--adopt', first?.taskId ?? '', '--id', 'adopted', '--json']),
    ]);
    expect([second, lastLine(third)]).toEqual([first, first]);
    expect([other.code, lastLine(other)]).toEqual([
      2,
      {
        error: {
          type: 'InvalidRequest',
          message: expect.stringContaining('fox is the name of another job (it differs in prompt, seed)'),
          advice: expect.any(String),
          charged: 'no',
        },
      },
    ]);
    expect([adopted.code, lastLine(adopted)]).toMatchObject([
      2,
      { error: { message: expect.stringContaining(`the task ${first?.taskId} belongs to the job fox`) } },
    ]);
    expect(madeSince(before)).toEqual([first?.taskId]);
  });

  test('with --no-wait ends at once, its job has search attributes unless they are turned off, and an unknown id is refused', async () => {
    const [unwatched, unknown] = await Promise.all([
      videogen(['generate', 'A grey fox', '--id', 'unwatched', '--no-wait']),
      videogen(['generate', '--id', 'nobody']),
    ]);
    const queue = localTaskQueue({ ...service, VIDEOGEN_STORAGE: home.videos });
    expect(unwatched).toEqual({
      code: 0,
      out: 'unwatched\n',
      err:
        `The worker of process ${dev.pid} makes it, with the settings of that process.\n` +
        `Job unwatched on task queue ${queue}, shown at ${uiUrl()}/namespaces/default/workflows/unwatched\n` +
        'It continues wherever a worker runs. Follow it with: videogen watch unwatched\n',
    });
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('There is no job nobody.') });
    expect((await searchAttributesOf('unwatched')).sort()).toEqual([
      'VideoOutcome',
      'VideoPhase',
      'VideoTaskId',
    ]);
    await videogen(['generate', 'A fox', '--id', 'hidden', '--no-wait'], {
      VIDEOGEN_SEARCH_ATTRIBUTES: 'false',
    });
    expect(await searchAttributesOf('hidden')).toEqual([]);
    expect(await videogen(['generate', '--id', 'unwatched'])).toMatchObject({
      code: 0,
      out: `${join(home.videos, 'unwatched.mp4')}\n`,
    });
  });

  test('uses its own service and VIDEOGEN_STORAGE, and a joined job keeps those it was started with', async () => {
    const before = emulator.generations().length;
    const addressOf = (folder: string) => pathToFileURL(join(home.folder, folder)).href;
    expect(dev.err()).toContain(`Storage        ${addressOf('videos')}\n`);
    // No worker uses these once the command that started the job has ended.
    const mine = { ...otherService(), VIDEOGEN_STORAGE: join(home.folder, 'mine') };
    const videos = await createVideoClient({ client, taskQueue: localTaskQueue(mine) });
    await videos.start({ request: { prompt: 'A grey fox' }, storage: 'grey/' }, { workflowId: 'left' });
    const followed = await videogen(['generate', '--id', 'left', '--no-wait']);
    expect(followed).toMatchObject({ code: 0 });
    expect(followed.err).toMatch(
      /^left keeps what it was started with: task queue \S+\. It continues while/m,
    );
    const continued = await home.run(['generate', '--id', 'left', '--json', '--out', 'copy.mp4'], {
      ...mine,
      ...ONE_THREAD,
      VIDEOGEN_STORAGE: 'mine',
      // That of dev.
      VIDEOGEN_DOWNLOAD_QUEUE: 'shared',
    });
    const uri = `${addressOf('mine')}/grey/left.mp4`;
    const copiedTo = join(home.folder, 'copy.mp4');
    expect(continued).toMatchObject({
      code: 0,
      err: expect.stringContaining(`It is at ${uri}, copied to ${copiedTo}.\n`),
    });
    expect(lastLine(continued)).toMatchObject({ workflowId: 'left', video: { uri }, copiedTo });
    expect(existsSync(fileURLToPath(uri))).toBe(true);
    expect(existsSync(join(home.videos, 'grey'))).toBe(false);
    expect(other.generations().map(({ taskId }) => taskId)).toEqual([lastLine(continued).taskId]);
    expect(madeSince(before)).toEqual([]);
    expect(continued.err).not.toMatch(/emulated|sk-other/);
  });
});

test('batch beside dev prints failed items with their reasons, and the exit code says that some failed', async () => {
  const before = emulator.generations().length;
  const file = join(home.folder, 'some-fail.jsonl');
  writeFileSync(file, '{"prompt":"one"}\n{"prompt":"two"}\n{"prompt":"three"}\n');
  emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes today.' });
  const end = await videogen(['batch', file]);
  expect(end.code).toBe(EXIT.someFailed);
  expect(end.err).toMatch(/Stored 2 of 3 videos, 1 failed:\n {2}\d: The request was refused: HTTP 400/);
  expect(end.err).toContain('No foxes today.');
  const results = parseResults(readFileSync(end.out.trim(), 'utf8'));
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'succeeded', 'succeeded']);

  // The same file is the same batch: nothing is paid for again, and the output is the same.
  const again = await videogen(['batch', file]);
  expect(again).toMatchObject({ code: EXIT.someFailed, out: end.out });
  expect(madeSince(before)).toHaveLength(2);
});

test('the environment alone selects another service and another Temporal server, and workers split a job by their roles', async () => {
  const before = [emulator, other].map((one) => one.generations().length);
  const elsewhere = {
    ...otherService(),
    ...ONE_THREAD,
    TEMPORAL_ADDRESS: home.note()?.address ?? '',
    VIDEOGEN_TASK_QUEUE: 'elsewhere',
    VIDEOGEN_DOWNLOAD_QUEUE: 'files',
  };
  const workers = [
    home.start(['worker', '--only', 'jobs', 'submits'], elsewhere),
    home.start(['worker', '--only', 'downloads'], elsewhere),
  ];
  const apart = await videogen(
    ['generate', 'A red fox', '--resolution', '480p', '--duration', '1', '--json'].concat(
      '--storage',
      'foxes/{taskId}.{ext}',
    ),
    elsewhere,
  );
  expect(apart).toMatchObject({ code: 0, err: expect.not.stringContaining('emulated') });
  expect(apart.err).toMatch(
    /^Stored 854x480, 1 s, avc, video\/mp4, \d+ bytes, SHA-256 [0-9a-f]{64}, of task task_\S+ after (one poll|\d+ polls)\.$/m,
  );
  const { taskId, video } = lastLine(apart);
  expect(fileURLToPath(video.uri)).toBe(join(home.videos, 'foxes', `${taskId}.mp4`));
  expect(existsSync(`${fileURLToPath(video.uri)}.json`)).toBe(true);
  const made = [emulator, other].map((one, index) => one.generations().slice(before[index]));
  expect(made).toMatchObject([[], [{ taskId }]]);

  for (const worker of workers) worker.kill('SIGTERM');
  const [jobs, downloads] = await Promise.all(workers.map(endOf));
  expect([jobs?.code, downloads?.code]).toEqual([0, 0]);
  expect(jobs?.err).toContain('Working on the jobs and submits of task queue elsewhere. Ctrl-C');
  expect(downloads?.err).toContain('Working on the downloads of task queue elsewhere. Ctrl-C');
  // A successful bundle prints nothing.
  expect(jobs?.err).not.toMatch(/webpack|modules? by path|Workflow bundle created/);
  // Only the worker for downloads has downloaded.
  expect(downloads?.err).toContain('"event":"stored"');
  expect(jobs?.err).not.toContain('"event":"stored"');
  for (const end of [apart, jobs, downloads]) expect(end?.err).not.toContain('sk-other');
});

describe('dev with the emulated service', () => {
  const [lose, submit, adopt, ...others] = commandsOf(sectionOf(readPage('lost-submits.md'), 'Try it'));
  const losing = wordsOf(lose?.command ?? '');

  const trying = new Home();
  let emulated: CliProcess;
  const here = (args: string[]) =>
    startHere(args, { VIDEOGEN_DATA: trying.data, VIDEOGEN_STORAGE: trying.videos });
  beforeAll(async () => {
    emulated = trying.start(losing, ONE_THREAD);
    await untilErr(emulated, /Ctrl-C ends everything(.|\n)*\nOpen the page: .*\n$/);
  });
  afterAll(() => trying.remove());

  test('says where everything is, for programs too, and a second one repeats that', async () => {
    const printed = emulated.err();
    const [, ui = ''] = /^Temporal UI {4}(http:\S+)$/m.exec(printed) ?? [];
    expect((await fetch(ui)).status).toBe(200);
    expect(printed).toMatch(/^Temporal {7}127\.0\.0\.1:\d+$/m);
    expect(printed).toContain(`
Task queues    video-generation, for programs without a worker of their own
               ${localTaskQueue({ VIDEOGEN_STORAGE: trying.videos })}, for videogen generate and batch
`);
    expect(printed).toMatch(/^Video service {2}http:\S+ \(the emulator\)$/m);
    const [, page = ''] = /\nOpen the page: (http:\S+)\n$/.exec(printed) ?? [];
    expect(await (await fetch(page)).text()).toMatch(/^<!doctype html>/i);
    const [exported = ''] =
      /^Your programs {2}export TEMPORAL_ADDRESS=.* VIDEO_API_KEY=.*$/m.exec(printed) ?? [];
    expect(exported).not.toBe('');
    const second = await endOf(here(['dev']));
    expect(second).toEqual({
      code: 0,
      out: '',
      err:
        `Process ${emulated.pid} already runs everything and stores videos in ${pathToFileURL(trying.videos).href}; ` +
        `its UI is at ${ui}.\n${exported}\nOpen the page: ${page}\n`,
    });
    const withFault = await endOf(here(losing));
    expect(withFault).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^--fault is only for an emulator that this command starts: end process \d+ /m,
      ),
    });
  });

  test('loses a submit as the page about lost submits shows', async () => {
    if (!lose || !submit || !adopt || others.length > 0) throw new Error('the page shows other commands');
    const held = here(wordsOf(submit.command));
    await untilErr(held, /^ {2}videogen decide fox --abandon/m);
    expectShown(submit, held.err());
    await untilErr(emulated, /: no answer, created task_/);
    expectShown(lose, emulated.err());
    const [, taskId = ''] = /created (task_\S+)/.exec(emulated.err()) ?? [];
    expect(trying.paid()).toEqual([taskId]);

    const adopted = await endOf(here(wordsOf(adopt.command.replace('TASK_ID', taskId))));
    expectShown(adopt, adopted.err);
    expect(await held.ended).toBe(0);
    expect(trying.paid()).toEqual([taskId]);
  });

  test('ends with all that it runs on SIGTERM, while the page watches a video', async () => {
    const [, page] = /^Open the page: (\S+)$/m.exec(emulated.err()) ?? [];
    const body = JSON.stringify({ prompt: 'A red fox' });
    const headers = { 'content-type': 'application/json' };
    const posted = await fetch(`${page}/v1/videos/text-to-video`, { method: 'POST', headers, body });
    const events = await fetch(JSON.parse(await posted.text()).urls.events);
    let seen = '';
    for await (const text of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (!seen.includes('event: video.progress') && `${seen}${text}`.includes('event: video.progress')) {
        emulated.kill('SIGTERM');
      }
      seen += text;
    }
    expect(seen).toContain('event: video.progress');
    expect(await endOf(emulated)).toMatchObject({ code: 0, out: '' });
    expect(trying.processes()).toEqual([]);
  });
});

test('generate without a Temporal server fails with one sentence', async () => {
  const end = await withoutTemporal;
  expect(end.code).toBe(EXIT.noTemporal);
  expect(end.err).toMatch(/^Temporal cannot be reached at 127\.0\.0\.1:1 \(.+\): .+\.\n$/);
  expect(lastLine(end)).toEqual({ error: { type: 'TemporalUnreachable', message: end.err.trimEnd() } });
});

test('Ctrl-C ends dev with all that it runs, and no key was printed; looking at a job then starts a server, but no worker', async () => {
  const { VIDEOGEN_TEMPORAL_CLI } = process.env;
  const local = { HOME: home.folder, VIDEOGEN_DATA: home.data, VIDEOGEN_TEMPORAL_CLI };
  await client.workflow.start('generateVideo', {
    workflowId: 'unserved',
    taskQueue: localTaskQueue(local),
    args: [{ request: { prompt: 'A red fox' } }],
  });
  // Lists lag behind.
  while ((await client.workflow.count("WorkflowId = 'unserved'")).count === 0) await sleep(100);
  dev.kill('SIGINT');
  const end = await endOf(dev);
  expect(end).toMatchObject({ code: 0, out: '', err: expect.stringContaining('Stopping. Jobs are saved') });
  expect(end.err).not.toContain(emulator.apiKey);
  expect(home.processes()).toEqual([]);

  const status = await runHere(['status', 'unserved'], local);
  const again = `VIDEOGEN_DATA=${home.data} videogen dev`;
  expect(JSON.parse(status.out)).toMatchObject({
    phase: 'submitting',
    note: `No worker answers, so this is what Temporal knows. No worker for unserved runs on this machine. To continue it, run: videogen watch unserved, or: ${again}`,
  });
  expect(home.processes()).toEqual([]);
});
