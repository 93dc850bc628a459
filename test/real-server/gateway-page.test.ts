import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { source as axeSource } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { FAILURES } from '../../src/contract/failure-table';
import { MAX_DURATION_SECONDS } from '../../src/contract/request';
import { createVideoGateway, type VideoGateway } from '../../src/gateway';
import { makeKey } from '../../src/gateway/gateway-keys';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { HTML, PNG, sha256Of } from '../support/images';
import { captureLogs } from '../support/logs';
import { testAtNight } from '../support/nightly';
import { keepRunning, quickWorkflows } from '../support/world';
import { BROWSER_TIMEOUT_MS, findBrowser } from './browser';

const CHROMIUM_ARGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'];
const TEMPORAL_UI = 'http://temporal.example:8233';

/** The service's clock. While it is stopped, no generation ends, however slow the browser is. */
const service = {
  stoppedAtMs: undefined as number | undefined,
  now: () => service.stoppedAtMs ?? Date.now(),
  stop: () => {
    service.stoppedAtMs = Date.now();
  },
  goOn: () => {
    service.stoppedAtMs = undefined;
  },
};

const { key, line } = makeKey('tester');
let env: VideoTestEnvironment;
let stopWorker: (() => Promise<void>) | undefined;
let gateway: VideoGateway;
let browser: Browser;

beforeAll(async () => {
  captureLogs();
  const emulator = { jobTimeMs: 1, fetchImages: true, clock: service.now };
  env = await createVideoTestEnvironment({ server: 'dev', emulator });
  const keysFile = join(env.storageFolder, 'keys');
  writeFileSync(keysFile, line);
  gateway = await createVideoGateway({
    env: { VIDEOGEN_STORAGE: env.storageFolder, VIDEOGEN_GATEWAY_KEYS_FILE: keysFile },
    client: env.temporal.client,
    port: 0,
    temporalUiUrl: TEMPORAL_UI,
    log: () => undefined,
  });
  stopWorker = keepRunning(await env.createWorker({ gatewayUrl: gateway.url, worker: quickWorkflows() }));
  browser = await chromium.launch({ ...(await findBrowser()), args: CHROMIUM_ARGS });
}, BROWSER_TIMEOUT_MS);
afterEach(service.goOn);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
  await stopWorker?.();
  await env?.teardown();
});

/** What axe reports. */
interface Finding {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

const newPrompt = () => `A red fox ${randomUUID()}`;

/** A new tab. Whatever the page of a test does, it loads nothing from elsewhere and breaks no rule of its policy. */
async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const strange: string[] = [];
  context.on('request', (request) => {
    if (!request.url().startsWith(gateway.url) && !request.url().startsWith('blob:'))
      strange.push(request.url());
  });
  context.on('console', (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) strange.push(message.text());
  });
  context.on('weberror', (error) => strange.push(String(error.error())));
  const page = await context.newPage();
  try {
    await page.goto(gateway.url);
    await work(page);
    expect(strange).toEqual([]);
  } finally {
    await context.close();
  }
}

const inSession = (work: (page: Page) => Promise<void>) =>
  withPage(async (page) => {
    await giveKey(page, key);
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await work(page);
  });

async function giveKey(page: Page, given: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(given);
  await page.keyboard.press('Enter');
}

const field = (page: Page, name: string) => page.getByRole('textbox', { name });
const generate = (page: Page) => page.getByRole('button', { name: 'Generate', exact: true });
const stage = (page: Page) => page.locator('.stage');
const untilState = (page: Page, state: string) => page.locator(`.stage[data-state="${state}"]`).waitFor();
const tileOf = (page: Page, prompt: string) => page.getByRole('listitem').filter({ hasText: prompt });

/** The smallest video that the form can ask for. */
async function ask(page: Page, prompt: string): Promise<void> {
  await field(page, 'Prompt').fill(prompt);
  await page.getByRole('radio', { name: '480p' }).check();
  await page.getByRole('radio', { name: '16:9' }).check();
  await page.getByRole('spinbutton', { name: 'Duration' }).fill('1');
  await generate(page).click();
}

const untilPlaying = async (page: Page) => {
  await page.locator('#player').waitFor();
  // Not `waitForFunction`, whose second try needs eval, which the policy forbids.
  await page.evaluate(`new Promise((resolve) => {
    const player = document.querySelector('#player');
    const check = () => player.currentTime > 0.1 && resolve();
    player.addEventListener('timeupdate', check);
    check();
  })`);
};

const paidFor = (prompt: string) =>
  env.emulator.generations().filter(({ request }) => request.prompt === prompt);

test('with the right key alone, a prompt becomes a video that plays, also after a reload midway, with its seed, its ids and its workflow', async () => {
  const prompt = newPrompt();
  await withPage(async (page) => {
    await giveKey(page, 'vgk_wrong');
    await page.getByText('The gateway refused this key').waitFor();
    await giveKey(page, key);
    await page.getByText('There are none yet').waitFor();
    await page.getByRole('button', { name: 'Try “A red fox in the snow”' }).click();
    expect(await field(page, 'Prompt').inputValue()).toBe('A red fox in the snow');
    await field(page, 'Seed').fill('7');
    service.stop();
    await ask(page, prompt);
    await untilState(page, 'generating');
    await page.reload();
    await untilState(page, 'generating');
    service.goOn();
    await untilPlaying(page);
    const [task, ...others] = paidFor(prompt);
    expect(others).toEqual([]);
    expect(task?.request).toMatchObject({ resolution: '480p', aspect_ratio: '16:9', duration: 1, seed: 7 });
    const id = new URL(page.url()).hash.slice(1);
    await stage(page)
      .getByText(task?.taskId ?? 'none')
      .waitFor();
    expect(await stage(page).getByText('Temporal UI').getAttribute('href')).toBe(
      `${TEMPORAL_UI}/namespaces/default/workflows/gateway-tester-${id}`,
    );
    const tile = tileOf(page, prompt);
    await tile.locator('img').waitFor();
    await field(page, 'Prompt').fill('');
    await field(page, 'Seed').fill('');
    await tile.getByRole('button', { name: 'Use these settings' }).click();
    expect(await field(page, 'Prompt').inputValue()).toBe(prompt);
    expect(await field(page, 'Seed').inputValue()).toBe('7');
    expect(await page.getByRole('radio', { name: '480p' }).isChecked()).toBe(true);
    // The key is in the tab alone.
    expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });
  });
});

testAtNight(
  'a request whose answers are lost is sent again, even after a reload, and paid for once',
  async () => {
    const prompt = newPrompt();
    await inSession(async (page) => {
      const keys: (string | undefined)[] = [];
      await page.route('**/v1/videos/text-to-video', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        if (keys.length > 2) return route.continue();
        await route.fetch();
        // The reload may have ended it.
        await route.abort().catch(() => undefined);
      });
      service.stop();
      await ask(page, prompt);
      await page.getByText('the video is started once').waitFor();
      await page.reload();
      await untilState(page, 'generating');
      expect(keys.length).toBeGreaterThan(2);
      expect(new Set(keys).size).toBe(1);
      expect(paidFor(prompt)).toHaveLength(1);
      page.on('dialog', (dialog) => dialog.accept());
      await page.getByRole('button', { name: 'Cancel this video' }).click();
      await untilState(page, 'cancelled');
    });
  },
);

test('a held submit is adopted, submitted again or abandoned on the page', async () => {
  await inSession(async (page) => {
    const hold = async () => {
      const prompt = newPrompt();
      env.emulator.next('submit', { kind: 'reset' });
      await ask(page, prompt);
      await untilState(page, 'held');
      return prompt;
    };
    const decide = (name: string) => stage(page).getByRole('button', { name }).click();

    const adopted = await hold();
    await decide('Adopt it');
    await page.getByText('Give the task id').waitFor();
    await page.getByLabel('Its task id').fill('task_of_somebody_else');
    await decide('Adopt it');
    await stage(page).getByRole('alert').filter({ hasText: 'task_of_somebody_else' }).waitFor();
    await page.getByLabel('Its task id').fill(paidFor(adopted)[0]?.taskId ?? '');
    await decide('Adopt it');
    await untilState(page, 'done');
    expect(paidFor(adopted)).toHaveLength(1);

    const resubmitted = await hold();
    service.stop();
    await decide('Submit again');
    await untilState(page, 'generating');
    service.goOn();
    expect(paidFor(resubmitted)).toHaveLength(2);

    await hold();
    await decide('Abandon');
    await untilState(page, 'failed');
    await stage(page).getByRole('heading', { name: FAILURES.SubmitUnconfirmed.meaning }).waitFor();
  });
});

testAtNight(
  'what is wrong with the form is beside its field, and a dropped image file is uploaded and fetched by the service',
  async () => {
    await inSession(async (page) => {
      await field(page, 'Seed').fill('abc');
      await generate(page).click();
      // All at once, and the first one has the focus.
      await page.locator('#prompt[aria-invalid="true"]:focus').waitFor();
      expect(await page.locator('.error:visible').allTextContents()).toEqual([
        'Describe the video.',
        'Give a whole number, or leave it empty.',
      ]);
      await field(page, 'Seed').fill('');
      await field(page, 'Prompt').fill('A red fox');
      for (const [name, wrong, right, problem] of [
        ['seed', 'abc', '1', 'Give a whole number'],
        ['duration', '50', '5', `Give the seconds, at most ${MAX_DURATION_SECONDS}`],
        ['image_url', 'a fox', '', 'Give a web address'],
        ['prompt', ' ', 'A fox', 'Describe the video'],
        // What only the gateway finds.
        ['duration', '2.5', '5', 'duration must be a whole number'],
      ] as const) {
        const control = page.locator(`#${name}`);
        await control.fill(wrong);
        await generate(page).click();
        await page.locator(`#${name}[aria-invalid="true"]:focus`).waitFor();
        expect(await control.getAttribute('aria-describedby')).toContain(`${name}-error`);
        expect(await page.locator(`#${name}-error`).textContent()).toContain(problem);
        expect(await page.locator('.error:visible').count()).toBe(1);
        await control.fill(right);
        expect(await page.locator('.error:visible').count()).toBe(0);
      }

      const drop = async (bytes: Buffer) => {
        const dataTransfer = await page.evaluateHandle(`(() => {
        const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), (character) => character.charCodeAt(0));
        const dropped = new DataTransfer();
        dropped.items.add(new File([bytes], 'fox.png', { type: 'image/png' }));
        return dropped;
      })()`);
        await page.locator('#drop').dispatchEvent('drop', { dataTransfer });
      };
      await drop(HTML);
      await page.locator('#image_url-error', { hasText: 'is not a PNG' }).waitFor();
      await drop(PNG);
      await page.getByText('The image is uploaded').waitFor();
      expect(await page.locator('#dropped-name').textContent()).toBe('fox.png');
      const prompt = newPrompt();
      service.stop();
      await ask(page, prompt);
      await untilState(page, 'generating');
      expect(paidFor(prompt)[0]?.image).toMatchObject({ sha256: sha256Of(PNG), contentType: 'image/png' });
    });
  },
);

test('a failure shows what it means, what the service said and what to do', async () => {
  await inSession(async (page) => {
    env.emulator.next('submit', { kind: 'refused', status: 400, message: 'no roads today' });
    await ask(page, newPrompt());
    await untilState(page, 'failed');
    const { meaning, advice } = FAILURES.InvalidRequest;
    await stage(page).getByRole('heading', { name: meaning }).waitFor();
    await stage(page).locator('#failure-message', { hasText: 'no roads today' }).waitFor();
    await stage(page).getByText(advice, { exact: true }).waitFor();
  });
});

test('the page of the API has every route of the document, and opens at the one that the address names', async () => {
  await withPage(async (page) => {
    await page.goto(`${gateway.url}/docs#getVideo`);
    const opened = page.locator('details[open]');
    await opened.waitFor();
    expect(await opened.locator('caption').allTextContents()).toEqual([
      'Parameters',
      'Answer 200: application/json',
      expect.stringMatching(/^An error/),
    ]);
    await opened.getByRole('row', { name: 'error.charged "yes", "no", "unknown" Whether' }).waitFor();
    const { paths } = JSON.parse(await (await fetch(`${gateway.url}/openapi.json`)).text());
    const documented = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = await page.locator('summary code').allTextContents();
    expect(shown.sort()).toEqual(documented.sort());
  });
});

testAtNight(
  'axe finds nothing serious in any state of the page, in light and dark, nor on a phone, where nothing is cut off',
  async () => {
    const findings = async (page: Page) => {
      const run = async (colorScheme: 'light' | 'dark', options: object) => {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const found: Finding[] = await page.evaluate(
          `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
        );
        return found
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
      };
      return [...(await run('light', {})), ...(await run('dark', { runOnly: ['color-contrast'] }))];
    };
    await withPage(async (page) => {
      await page.evaluate(axeSource);
      await page.getByRole('dialog').waitFor();
      expect(await findings(page)).toEqual([]);
      await giveKey(page, key);
      // The tests before left videos in every state.
      for (const state of ['done', 'failed', 'cancelled']) {
        await page.locator(`.tile[data-state="${state}"] .still`).first().click();
        await untilState(page, state);
        expect(await findings(page)).toEqual([]);
      }
      env.emulator.next('submit', { kind: 'reset' });
      await ask(page, newPrompt());
      await untilState(page, 'held');
      await field(page, 'Seed').fill('abc');
      await generate(page).click();
      await page.locator('#seed-error:not([hidden])').waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await findings(page)).toEqual([]);
      const isWhole = () => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
      expect(await isWhole()).toBe(true);
      await page.goto(`${gateway.url}/docs#createVideo`);
      await page.locator('details[open]').waitFor();
      await page.evaluate(axeSource);
      expect(await findings(page)).toEqual([]);
      expect(await isWhole()).toBe(true);
    });
  },
);
