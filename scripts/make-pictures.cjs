/**
 * Takes the screenshots of the documentation in a browser: `CHROMIUM=/usr/bin/chromium npm run pictures`. One shows the page
 * of the gateway, the others show jobs in the Temporal UI.
 */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { chromium } = require('playwright-core');
const { createVideoClient } = require('../dist/src');
const { startEmulator } = require('../dist/src/testing');

const CLI = join(__dirname, '../dist/src/cli/main.js');
const PICTURES = join(__dirname, '../docs/pictures');
const CHROMIUM_ARGS = [
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
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  return { child, output };
}

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Runs `videogen dev` in its own folder while `work` runs. */
async function withDev(settings, work) {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-pictures-'));
  const env = { VIDEOGEN_DATA: join(folder, 'data'), VIDEOGEN_STORAGE: join(folder, 'videos'), ...settings };
  const dev = run(['dev'], env);
  await until(() => /^Open the page: .*\n/m.test(dev.output.stderr));
  const [, address] = /^Temporal +(\S+)$/m.exec(dev.output.stderr);
  const [, ui] = /^Temporal UI +(\S+)$/m.exec(dev.output.stderr);
  const [, gateway] = /^Open the page: (\S+)$/m.exec(dev.output.stderr);
  try {
    await work({ env, address, gateway, workflows: `${ui}/namespaces/default/workflows` });
  } finally {
    dev.child.kill('SIGINT');
    await once(dev.child, 'close');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function open(browser, address, height) {
  const page = await browser.newPage({ viewport: { width: 1280, height } });
  await page.goto(address);
  return page;
}

/** Waits a moment: the UI still draws after its text is there. */
async function takePicture(page, name, options) {
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: join(PICTURES, name), ...options });
  await page.close();
}

/** One job from start to end. */
async function oneJob(browser) {
  await withDev({}, async ({ env, workflows }) => {
    const generate = run(['generate', ...REQUEST, '--id', 'red-fox'], env);
    await once(generate.child, 'close');
    const page = await open(browser, `${workflows}/red-fox`, 1_130);
    await page.getByText('next poll in').first().waitFor();
    await takePicture(page, 'temporal-ui.png');
  });
}

/** The page in each of its states, and with a finished video and the ones before it. */
async function thePage(browser) {
  await withDev({}, async ({ gateway }) => {
    const page = await open(browser, gateway, 1_180);
    const states = [];
    const takeState = async (words, waitMs = 1_000) => {
      await page.waitForTimeout(waitMs);
      states.push({ words, picture: (await page.screenshot()).toString('base64') });
    };
    await takeState('Nothing yet');
    await page.getByRole('textbox', { name: 'Seed' }).fill('seven');
    await page.getByRole('button', { name: 'Generate', exact: true }).click();
    await takeState('Two mistakes');
    const prompts = ['A paper boat on a pond', 'A street in the rain at night', 'A red fox in the snow'];
    for (const [index, prompt] of prompts.entries()) {
      await page.getByRole('textbox', { name: 'Prompt' }).fill(prompt);
      await page.getByRole('radio', { name: '720p' }).check();
      await page.getByRole('radio', { name: '16:9' }).check();
      await page.getByRole('spinbutton', { name: 'Duration' }).fill('5');
      await page.getByRole('textbox', { name: 'Seed' }).fill(String(index + 5));
      await page.getByRole('button', { name: 'Generate', exact: true }).click();
      if (index === 1) {
        await page.locator('.stage[data-state="generating"]').waitFor();
        await takeState('Midway', 0);
      }
      await page
        .locator('.stage[data-state="done"]')
        .filter({ hasText: prompt })
        .locator('#player')
        .waitFor();
    }
    await page.locator('#player').evaluate(async (player) => {
      player.pause();
      player.currentTime = 2.4;
      await new Promise((resolve) => player.addEventListener('seeked', resolve, { once: true }));
    });
    await page.emulateMedia({ colorScheme: 'dark' });
    await takeState('Done, in the dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator('.stage').scrollIntoViewIfNeeded();
    await takeState('On a phone');
    await page.setViewportSize({ width: 1280, height: 1_180 });
    await page.mouse.wheel(0, -5_000);
    await takePicture(page, 'gateway-page.png');
    await takeStates(browser, states);
  });
}

/** All states in one small picture. */
async function takeStates(browser, states) {
  const page = await browser.newPage({ viewport: { width: 1_300, height: 900 } });
  const figures = states.map(
    ({ words, picture }) =>
      `<figure><img src="data:image/png;base64,${picture}"><figcaption>${words}</figcaption></figure>`,
  );
  await page.setContent(
    `<style>body { display: flex; flex-wrap: wrap; gap: 16px; margin: 12px; font: 16px sans-serif }
      figure { margin: 0 } img { height: 390px; border: 1px solid #ccc }</style>${figures.join('')}`,
  );
  await page.screenshot({ path: join(PICTURES, 'gateway-states.jpg'), type: 'jpeg', quality: 55 });
  await page.close();
}

/** A job that waits for a decision, and a list of several jobs. */
async function manyJobs(browser) {
  let skippedMs = 0;
  const emulator = await startEmulator({ jobTimeMs: 600_000, clock: () => Date.now() + skippedMs });
  const settings = { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: emulator.apiKey };
  await withDev(settings, async ({ address, workflows }) => {
    const videos = await createVideoClient({
      env: { TEMPORAL_ADDRESS: address, VIDEOGEN_SEARCH_ATTRIBUTES: 'true' },
    });
    const startUntil = async (workflowId, prompt, phase) => {
      const request = { prompt, resolution: '720p', aspect_ratio: '16:9', duration: 5 };
      const job = await videos.start({ request, polling: { min: '2s' } }, { workflowId });
      for await (const progress of job.follow({ everyMs: 100 })) if (progress.phase === phase) return job;
    };
    const done = await startUntil('red-fox', 'A red fox in the snow', 'waiting');
    emulator.next('submit', { kind: 'failed-task', code: 'moderated', message: 'no real people' });
    const failing = await startUntil('famous-face', 'A famous person dances', 'waiting');
    skippedMs += 600_000;
    await done.result();
    await failing.result().catch(() => undefined);
    emulator.next('submit', { kind: 'refused', status: 400, message: 'no roads today' });
    await startUntil('endless-road', 'A road without an end', 'failed');
    emulator.next('submit', { kind: 'reset' });
    await startUntil('hot-air-balloon', 'A hot air balloon over the hills', 'needs-decision');
    await startUntil('rainy-street', 'A street in the rain', 'waiting');
    await startUntil('paper-boat', 'A paper boat on a pond', 'waiting');
    await videos.close();

    const details = await open(browser, `${workflows}/hot-air-balloon`, 1_160);
    await details.getByText('User Metadata').click();
    const shown = details.locator('iframe').last().contentFrame();
    await shown.getByText('Needs a decision').waitFor();
    await takePicture(details, 'temporal-ui-details.png');

    const query = "VideoPhase != 'succeeded'";
    const list = await open(browser, `${workflows}?query=${encodeURIComponent(query)}`, 900);
    await list.getByTestId('workflows-summary-table-configuration-button').click();
    for (const column of ['Run ID', 'Type', 'Start', 'End'])
      await list.getByLabel(`Remove ${column} column`).click();
    for (const column of ['VideoPhase', 'VideoOutcome', 'VideoTaskId']) {
      await list.getByLabel(`Add ${column} column`).click();
    }
    await list.getByTestId('drawer-close-button').click();
    const clip = { x: 0, y: 0, width: 1_280, height: 480 };
    await takePicture(list, 'temporal-ui-list.png', { clip });
  });
  await emulator.close();
}

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: CHROMIUM_ARGS,
  });
  await thePage(browser);
  if (!process.argv.includes('--page')) {
    await oneJob(browser);
    await manyJobs(browser);
  }
  await browser.close();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
