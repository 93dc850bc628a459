import { cp, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { BROWSER_TIMEOUT_MS, findBrowser } from '../real-server/browser';
import { ChildProcesses, untilPrinted } from '../support/child-processes';
import { captureLogs } from '../support/logs';
import { keepRunning, pause } from '../support/world';
import { INSTALL_TIMEOUT_MS } from './host';
import { ROOT, run, tarball } from './run';

jest.setTimeout(2 * INSTALL_TIMEOUT_MS);

let folder: string;
const programs = new ChildProcesses();
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'videogen-copies-')));
});
afterAll(async () => {
  await programs.killAll();
  await rm(folder, { recursive: true, force: true });
});

/** A copy elsewhere, after the commands that its README gives before the one that starts it. */
async function copyOf(example: string, lastCommand: string): Promise<string> {
  const copy = join(folder, example);
  await cp(join(ROOT, 'examples', example), copy, {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist)$/.test(path),
  });
  const readme = await readFile(join(copy, 'README.md'), 'utf8');
  const [, commands = ''] = /in the copy:\n\n```sh\n([^`]*)```/.exec(readme) ?? [];
  expect(commands).toMatch(new RegExp(`${lastCommand}\n$`));
  for (const command of commands
    .replace(lastCommand, 'true')
    .replace(' temporal-videogen ', ` ${tarball()} `)
    .trim()
    .split('\n'))
    await run('sh', ['-c', command], { cwd: copy });
  return copy;
}

const env = () => ({ VIDEOGEN_TEMPORAL_CLI: process.env.VIDEOGEN_TEMPORAL_CLI });

test('a copy of the trailer makes one, with the packed package', async () => {
  const copy = await copyOf('trailer', 'node dist/run.js');
  const trailer = programs.start([join(copy, 'dist/run.js'), 'fox'], { cwd: copy, env: env() });
  expect({ code: await trailer.ended, err: trailer.err() }).toEqual({ code: 0, err: expect.any(String) });
  expect(trailer.out()).toContain('videos/trailers/fox/trailer.mp4');
  expect((await stat(join(copy, 'videos/trailers/fox/trailer.mp4'))).size).toBeGreaterThan(100_000);
});

test('a copy of the Express service answers, with the packed package', async () => {
  const copy = await copyOf('express-service', 'node dist/main.js');
  const service = programs.start([join(copy, 'dist/main.js')], { cwd: copy, env: { ...env(), PORT: '0' } });
  const url = await untilPrinted(service, /http:\S+/);
  const answer = await fetch(`${url}/videos`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'A red fox in the snow' }),
  });
  expect([answer.status, await answer.json()]).toEqual([202, { id: expect.any(String) }]);
});

describe('a copy of the page with React', () => {
  let temporal: VideoTestEnvironment;
  let gateway: VideoGateway;
  let browser: Browser;
  let stopWorker: (() => Promise<void>) | undefined;
  let url: string;
  const { key, line } = makeKey('shop');

  beforeAll(async () => {
    captureLogs();
    const copy = await copyOf('react-progress', 'npm start');
    await run('npm', ['run', 'build'], { cwd: copy });
    // The gateway must know the page's address, and the page the gateway's.
    const port = await freePort();
    temporal = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 3_000 } });
    const keysFile = join(temporal.storageFolder, 'keys');
    await writeFile(keysFile, line);
    gateway = await createVideoGateway({
      env: {
        VIDEOGEN_STORAGE: temporal.storageFolder,
        VIDEOGEN_GATEWAY_KEYS_FILE: keysFile,
        VIDEOGEN_GATEWAY_CORS_ORIGINS: `http://localhost:${port}`,
      },
      client: temporal.temporal.client,
      port: 0,
      log: () => undefined,
    });
    stopWorker = keepRunning(await temporal.createWorker());
    const settings = { GATEWAY: gateway.url, KEY: key, PORT: String(port) };
    const server = programs.start([join(copy, 'server.mjs')], { cwd: copy, env: settings });
    url = await untilPrinted(server, /http:\S+/);
    browser = await chromium.launch({ ...(await findBrowser()), args: ['--no-sandbox', '--disable-gpu'] });
  }, BROWSER_TIMEOUT_MS + INSTALL_TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
    await stopWorker?.();
    await temporal?.teardown();
  });

  test('shows the progress of a video and plays it, with tokens alone, and asks for another one after a refusal', async () => {
    const page = await browser.newPage();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().startsWith(gateway.url)) sent.push(JSON.stringify(request.headers()));
    });
    let tokens = 0;
    await page.route('**/token', async (route) => {
      tokens += 1;
      // As if the first one had expired.
      if (tokens === 1) await route.fulfill({ json: { token: 'vgw_shop.1.x', expires_at: 1 } });
      else await route.continue();
    });
    await page.goto(url);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.locator('video').waitFor();
    await page.evaluate(`new Promise((resolve) => {
      const check = () => (document.querySelector('video').currentTime > 0.1 ? resolve() : setTimeout(check, 50));
      check();
    })`);
    // One that was refused, one for the events, one for the video.
    expect(tokens).toBe(3);
    expect(sent.join()).not.toContain(key);
    const html = await page.content();
    expect(html).not.toContain(key);
    // Half an hour later, the address of the video is of no use.
    await page.evaluate(`{
      const later = Date.now() + 1_800_000;
      Date.now = () => later;
      document.querySelector('video').dispatchEvent(new Event('error'));
    }`);
    while (tokens < 4) await pause();
    await page.close();
  });

  test('shows why a video failed', async () => {
    temporal.emulator.next('submit', { kind: 'refused', status: 400, message: 'no roads today' });
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('no roads today').waitFor();
    await page.close();
  });
});
