import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Emulator, startEmulator } from '../../src/emulator';
import { endOf, Home, lastLine, untilErr } from '../cli/cli-process';

// Several processes, each of which loads the SDK.
jest.setTimeout(120_000);

let home: Home;
let emulator: Emulator;
let service: Record<string, string>;
beforeEach(async () => {
  home = new Home();
  emulator = await startEmulator({ jobTimeMs: 500 });
  service = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey };
});
afterEach(async () => {
  await home.remove();
  await emulator.close();
});

test('two services on one local stack never get each other’s downloads, and workers split a job by their roles', async () => {
  const dev = home.start(['dev'], { VIDEOGEN_DOWNLOAD_QUEUE: 'shared' });
  await untilErr(dev, 'Ctrl-C ends everything');
  const elsewhere = {
    ...service,
    TEMPORAL_ADDRESS: home.note()?.address ?? '',
    VIDEOGEN_TASK_QUEUE: 'elsewhere',
    VIDEOGEN_DOWNLOAD_QUEUE: 'files',
  };
  const workers = [
    home.start(['worker', '--only', 'jobs', 'submits'], elsewhere),
    home.start(['worker', '--only', 'downloads'], elsewhere),
  ];
  const generate = ['generate', 'A red fox', '--resolution', '480p', '--duration', '3', '--json'];
  const [beside, apart] = await Promise.all([
    home.run(generate, { ...service, VIDEOGEN_DOWNLOAD_QUEUE: 'shared' }),
    home.run([...generate, '--storage', 'foxes/{taskId}.{ext}', '--keep-bad'], elsewhere),
  ]);
  for (const end of [beside, apart]) {
    expect(end).toMatchObject({ code: 0 });
    expect(end.err).toMatch(
      /^Stored 854x480, 3 s, avc, video\/mp4, \d+ bytes, SHA-256 [0-9a-f]{64}, of task task_\S+ after (one poll|\d+ polls)\.$/m,
    );
  }
  const { taskId, video } = lastLine(apart);
  expect(fileURLToPath(video.uri)).toBe(join(home.videos, 'foxes', `${taskId}.mp4`));
  expect(existsSync(`${fileURLToPath(video.uri)}.json`)).toBe(true);
  expect(home.paid()).toEqual([]);

  for (const worker of workers) worker.kill('SIGTERM');
  const [jobs, downloads] = await Promise.all(workers.map(endOf));
  expect([jobs?.code, downloads?.code]).toEqual([0, 0]);
  expect(jobs?.err).toContain('Working on the jobs of elsewhere and the submits of elsewhere-submit. Ctrl-C');
  expect(downloads?.err).toContain('Working on the downloads of files. Ctrl-C');
  // A successful bundle prints nothing.
  expect(jobs?.err).not.toMatch(/webpack|modules? by path|Workflow bundle created/);
  // Only the worker for downloads has downloaded.
  expect(downloads?.err).toMatch(/\bdownloaded\b/);
  expect(jobs?.err).not.toMatch(/\bdownloaded\b/);
});
