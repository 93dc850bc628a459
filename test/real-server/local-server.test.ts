import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { EMULATED_JOB_MS, isAlive } from '../../src/cli/stack-note';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { localTaskQueue } from '../../src/config/queues';
import { type DevServer, type DevServerOptions, startDevServer } from '../../src/temporal-server';
import { endOf, Home, lastLine, until, untilErr } from '../cli/cli-process';
import { commandsOf, expectShown, readPage } from '../support/docs-page';
import { testAtNight } from '../support/nightly';

// Several processes in sequence, each of which starts a server.
jest.setTimeout(240_000);

let home: Home;
const started: DevServer[] = [];
beforeEach(() => {
  home = new Home();
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
  await home.remove();
});

describe('the server of the commands', () => {
  /** Workflows run in the main thread of these processes: another one takes half a second to start. */
  const ONE_THREAD = { TEMPORAL_DEBUG: '1' };
  const start = (...args: string[]) => home.start(args, ONE_THREAD);
  const SMALL = ['--resolution', '480p', '--duration', '1'];

  /** A client for jobs on the server that is running now, with its emulator. */
  async function withVideos(use: (videos: VideoClient) => Promise<unknown>): Promise<void> {
    const connection = await Connection.connect({ address: home.note()?.address });
    const client = new Client({ connection });
    const taskQueue = localTaskQueue({ VIDEOGEN_STORAGE: home.videos });
    await use(await createVideoClient({ client, taskQueue }));
    await connection.close();
  }

  const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

  test('is one for two commands that start at once, for one job and one generation', async () => {
    // What a crash of the machine leaves: a note with a pid that another process has now. Its server is gone.
    const place = join(home.data, 'stack.running');
    const left = join(place, `${process.pid}@${hostname()}`);
    mkdirSync(place, { recursive: true });
    const address = '127.0.0.1:1';
    const gone = { pid: process.pid, serverPid: 999999999, address, namespace: 'default', storage: '' };
    writeFileSync(left, JSON.stringify(gone));

    // Of which the prices hold for the emulator too.
    const profile = join(home.folder, 'profile.json');
    writeFileSync(profile, '{"prices":{"currency":"USD","table":[{"perVideo":0.3}]}}');
    const settings = { ...ONE_THREAD, VIDEOGEN_PROFILE: profile };
    const args = ['generate', 'A red fox', '--seed', '7', ...SMALL, '--id', 'fox', '--json'];
    const commands = [args, [...args, '--out', 'copies/fox.mp4']].map((one) => home.start(one, settings));
    const [first, second] = (await Promise.all(commands.map(endOf))).map((end) => {
      expect(end).toMatchObject({ code: 0 });
      // One line for programs; everything else goes to stderr.
      expect(end.out).toMatch(/^\{[^\n]*\}\n$/);
      expect(end.err).toMatch(
        /^Using the emulated video service, whose videos take 1 s; set VIDEO_API_BASE_URL/,
      );
      expect(end.err).toMatch(
        /^Job fox on task queue video-generation-emulator-[0-9a-f]{8}, shown at http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\/fox$/m,
      );
      return lastLine(end);
    });
    expect(home.paid()).toEqual([first?.taskId]);
    const copiedTo = join(home.folder, 'copies/fox.mp4');
    expect(second).toEqual({ ...first, copiedTo });
    const cost = { estimated: { amount: 0.3, currency: 'USD' } };
    expect(first).toMatchObject({ workflowId: 'fox', video: { contentType: 'video/mp4' }, cost });
    for (const file of [fileURLToPath(first?.video.uri ?? ''), copiedTo]) {
      expect(sha256(file)).toBe(first?.video.sha256);
    }
    expect(home.note()).toBeUndefined();
    expect(home.processes()).toEqual([]);
  });

  test('may end before a job: dev is killed, a command is left by Ctrl-C, and the next goes on', async () => {
    const dev = start('dev');
    await untilErr(dev, 'Ctrl-C ends everything');
    // It polls only on request, so that it does not end before the last command has it.
    const late = {
      request: { prompt: 'A red fox', resolution: '480p', duration: 1 },
      polling: { min: '1h' },
      deadline: '2h',
    } as const;
    await withVideos((videos) => videos.start(late, { workflowId: 'fox' }));
    const following = ['a.mp4', 'b.mp4'].map((out) =>
      start('generate', '--id', 'fox', '--json', '--out', out),
    );
    for (const one of following) await untilErr(one, /^waiting.* task task_/m);
    const isMade = sleep(EMULATED_JOB_MS);
    const orphan = home.note()?.serverPid ?? 0;
    // Even a server that does not respond must free its database.
    process.kill(orphan, 'SIGSTOP');
    dev.kill('SIGKILL');
    await dev.ended;
    const runsTemporal = ({ pid }: { pid: number | undefined }) => home.note()?.pid === pid;
    await until('a server of a command', () => following.some(runsTemporal), dev.err);
    // Not by its pid, which a zombie keeps until the system removes it.
    expect(home.processes()).not.toContain(orphan);

    const left = following.find(runsTemporal);
    const last = following.find((one) => one !== left);
    if (!left || !last) throw new Error('none of the two commands runs Temporal');
    await untilErr(left, /Continuing without it(.|\n)*^waiting.* task task_/m);
    const serverPid = home.note()?.serverPid ?? 0;
    expect(isAlive(serverPid)).toBe(true);
    left.kill('SIGINT');
    expect(await endOf(left)).toMatchObject({
      code: 130,
      out: '',
      err: expect.stringMatching(/Follow it again with: videogen watch fox\n$/),
    });
    // The printed link no longer works.
    expect(left.err()).toContain(
      `\nThis Temporal UI ends with the command; to open it again, run: VIDEOGEN_DATA=${home.data} videogen dev\n`,
    );
    expect(isAlive(serverPid)).toBe(false);
    await until('a server of its own', () => runsTemporal(last), last.err);

    await isMade;
    await withVideos((videos) => videos.handle('fox').pollNow());
    const end = await endOf(last);
    expect(end).toMatchObject({ code: 0, err: expect.stringContaining(`of task ${home.paid()[0]} after`) });
    const { taskId, video, copiedTo } = lastLine(end);
    expect(home.paid()).toEqual([taskId]);
    expect(sha256(copiedTo ?? '')).toBe(video.sha256);
    await until('the note removed', () => home.note() === undefined);
    expect(home.processes()).toEqual([]);
  });

  test('ends with dev, even if that is killed during the start', async () => {
    const dev = start('dev');
    const log = join(home.data, 'temporal.log');
    const hasServer = () => existsSync(log) && readFileSync(log, 'utf8').includes('Temporal Server:');
    await until('a server', hasServer, dev.err);
    dev.kill('SIGKILL');
    await dev.ended;
    expect(home.note()).toBeUndefined();
    await until('its end', () => home.processes().length === 0);
  });

  testAtNight('is left by Ctrl-C while it is still starting, and nothing is paid', async () => {
    const left = start('generate', 'A red fox', '--id', 'early');
    await untilErr(left, /^Using the emulated video service/m);
    left.kill('SIGINT');
    expect(await endOf(left)).toMatchObject({
      code: 130,
      err: expect.stringMatching(/Stopped before the job was started/),
    });
    expect(home.paid()).toEqual([]);
    expect(home.processes()).toEqual([]);
  });

  testAtNight('runs the batch as its page shows', async () => {
    const [file, batch] = commandsOf(readPage('batches.md'));
    if (!file || !batch) throw new Error('The page does not show the commands.');
    writeFileSync(join(home.folder, 'foxes.jsonl'), file.output.join('\n'));
    const end = await home.run(batch.command.replace('npx videogen ', '').split(' '));
    expect(end).toMatchObject({ code: 0 });
    expectShown(batch, `${end.err}${end.out}`);
  });
});

describe('a dev server of a program', () => {
  const executable = process.env.VIDEOGEN_TEMPORAL_CLI ?? '';

  async function startServer(options: Omit<DevServerOptions, 'executable'> = {}): Promise<DevServer> {
    const server = await startDevServer({ executable, headless: true, ...options });
    started.push(server);
    return server;
  }

  test('with a UI and a log file accepts workflows at once, keeps others from its port, and ends when it is stopped', async () => {
    const logFile = join(home.folder, 'temporal.log');
    const server = await startServer({ headless: false, logFile });
    const connection = await Connection.connect({ address: server.address });
    const client = new Client({ connection, namespace: server.namespace });
    const film = await client.workflow.start('makeFilm', { workflowId: 'film-1', taskQueue: 'nobody' });
    expect([server.namespace, (await film.describe()).status.name]).toEqual(['default', 'RUNNING']);
    await connection.close();
    expect(server.uiUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(server.uiUrl ?? '')).status).toBe(200);
    const port = Number(server.address.split(':')[1]);
    await expect(startServer({ port })).rejects.toThrow(
      new Error(
        `The Temporal dev server cannot start on 127.0.0.1:${port} because that port is in use: ` +
          'stop what listens there, or choose another port.',
      ),
    );
    // It introduces itself when it is up, which may be a moment after it answers.
    await until('its output', () => readFileSync(logFile, 'utf8').includes('Temporal'));
    expect(isAlive(server.pid)).toBe(true);
    await server.stop();
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
  });

  // The suite starts dozens of them, and fails when one is left.
  testAtNight('neither keeps its parent from ending nor outlives it', async () => {
    const program = join(__dirname, '../temporal-server/run-server.cjs');
    const args = [program, 'startDevServer', JSON.stringify({ executable, headless: true })];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { pid }: { pid: number } = JSON.parse(stdout);
    expect(pid).toBeGreaterThan(0);
    await until('the server is gone', () => !isAlive(pid));
  });
});
