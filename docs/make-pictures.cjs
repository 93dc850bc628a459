/**
 * Takes the pictures of the README in a browser: `CHROMIUM=/usr/bin/chromium npm run pictures`. One is a video of the
 * emulator as a browser plays it, the other is a job in the Temporal UI.
 */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { createReadStream, mkdtempSync, rmSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { chromium } = require('playwright-core');

const CLI = join(__dirname, '../dist/src/cli/main.js');
const PICTURES = join(__dirname, 'pictures');
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];
const REQUEST = ['A red fox in the snow', '--resolution', '720p', '--duration', '5', '--seed', '7'];

function run(args, env) {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, ...env } });
  const seen = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    seen.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    seen.err += chunk;
  });
  return { child, seen };
}

async function until(isSo) {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 100));
}

async function playVideo(browser, file) {
  const server = createServer((request, response) => {
    if (request.url !== '/video.mp4') {
      response.writeHead(200, { 'content-type': 'text/html' });
      return response.end('<body style="margin:0"><video src="/video.mp4" muted autoplay></video>');
    }
    response.writeHead(200, { 'content-type': 'video/mp4' });
    return createReadStream(file).pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const page = await browser.newPage({ viewport: { width: 1296, height: 736 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const video = page.locator('video');
  await page.waitForFunction(() => document.querySelector('video').currentTime > 2.4);
  const played = await video.evaluate((element) => {
    element.pause();
    return { seconds: element.duration, width: element.videoWidth, height: element.videoHeight };
  });
  await video.screenshot({ path: join(PICTURES, 'video.png') });
  await page.close();
  server.closeAllConnections();
  server.close();
  return played;
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-pictures-'));
  const env = { VIDEOGEN_DATA: join(folder, 'data'), VIDEOGEN_STORAGE: join(folder, 'videos') };
  const dev = run(['dev'], env);
  await until(() => dev.seen.err.includes('Ctrl-C'));
  const ui = /http:\/\/\S+/.exec(dev.seen.err)[0];
  const generate = run(['generate', ...REQUEST, '--id', 'red-fox'], env);
  await once(generate.child, 'close');

  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ARGS,
  });
  process.stdout.write(`${JSON.stringify(await playVideo(browser, generate.seen.out.trim()))}\n`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 1130 } });
  await page.goto(`${ui}/namespaces/default/workflows/red-fox`);
  await page.getByText('next look in').first().waitFor();
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: join(PICTURES, 'temporal-ui.png') });
  await browser.close();

  dev.child.kill('SIGINT');
  await once(dev.child, 'close');
  rmSync(folder, { recursive: true, force: true });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
