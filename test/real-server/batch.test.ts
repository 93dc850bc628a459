import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../src/cli/terminal';
import { parseResults } from '../../src/contract/batch';
import type { VideoRequest } from '../../src/contract/request';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { endOf, Home, killIfThere, untilCount, untilErr } from '../cli/cli-process';
import { commandsOf, expectShown, readPage } from '../support/docs-page';
import { testAtNight } from '../support/nightly';

// Hundreds of videos, and three servers that start.
jest.setTimeout(300_000);

/** More than a batch reads or records at once, and than one run of its workflow takes. */
const LINES = 1_000;
const KILLED_AT = [250, 600];

let home: Home;
let emulator: Emulator;

async function open(): Promise<void> {
  home = new Home();
  emulator = await startEmulator({
    apiKey: 'sk-batch',
    jobTimeMs: 1_000,
    idempotencyKeys: 'honoured',
    videoBytes: 16 * 1024,
  });
}

async function close(): Promise<void> {
  await home.remove();
  await emulator.close();
}

/** A generation takes a second, so poll every second. */
function service() {
  const profile = join(home.folder, 'profile.yaml');
  writeFileSync(profile, 'polling: { min: 1s, max: 1s }\n');
  return { VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: 'sk-batch', VIDEOGEN_PROFILE: profile };
}

function writeLines(count: number): VideoRequest[] {
  const requests = Array.from({ length: count }, (_, index) => ({
    prompt: `Fox ${index + 1}`,
    seed: index,
  }));
  writeFileSync(
    join(home.folder, 'foxes.jsonl'),
    requests.map((request) => `${JSON.stringify(request)}\n`).join(''),
  );
  return requests;
}

const videos = () => readdirSync(home.videos).filter((name) => name.endsWith('.mp4'));
const storedCount = () => {
  try {
    return videos().length;
  } catch {
    return 0;
  }
};

describe('with its own stack', () => {
  beforeEach(open);
  afterEach(close);

  testAtNight(
    `a batch of ${LINES} lines that is killed twice stores each video and pays for each once`,
    async () => {
      const requests = writeLines(LINES);
      const env = service();
      // The service honours idempotency keys, so submits lost with a killed worker may be sent again.
      const args = ['batch', 'foxes.jsonl', '--window', '100', '--on-lost-submit', 'resubmit', '--json'];
      for (const killAt of KILLED_AT) {
        const cli = home.start(args, env);
        await untilCount(`${killAt} videos`, killAt, storedCount, cli.err);
        // Kills worker and client, and then the server, which locks the database.
        cli.kill('SIGKILL');
        await cli.ended;
        const note = home.note();
        if (note) killIfThere(note.serverPid);
      }
      const end = await endOf(home.start(args, env));

      expect(end).toMatchObject({ code: 0 });
      expect(JSON.parse(end.out)).toMatchObject({ items: LINES, succeeded: LINES, failed: 0 });
      expect(videos()).toHaveLength(LINES);
      expect(emulator.generations()).toHaveLength(LINES);
      const paid = emulator.generations().map(({ request }) => request.prompt);
      expect(new Set(paid)).toEqual(new Set(requests.map(({ prompt }) => prompt)));
      const { key } = JSON.parse(end.out).results;
      const results = parseResults(readFileSync(join(home.videos, key), 'utf8'));
      expect(results.map(({ item }) => item)).toEqual(requests.map((_, index) => index + 1));
    },
  );

  test('the page about batches shows what the command prints', async () => {
    const [file, batch] = commandsOf(readPage('batches.md'));
    if (!file || !batch) throw new Error('The page does not show the commands.');
    writeFileSync(join(home.folder, 'foxes.jsonl'), file.output.join('\n'));
    const args = batch.command.replace('npx videogen ', '').split(' ');
    const end = await home.run(args);
    expect(end).toMatchObject({ code: 0 });
    expectShown(batch, `${end.err}${end.out}`);
  });
});

describe('on a running stack', () => {
  beforeAll(async () => {
    await open();
    await untilErr(home.start(['dev'], service()), 'Ctrl-C');
  });
  afterAll(close);

  test('failed items are printed with their reasons, and the exit code says that some failed', async () => {
    writeLines(3);
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes today.' });
    const end = await home.run(['batch', 'foxes.jsonl'], service());
    expect(end.code).toBe(EXIT.someFailed);
    expect(end.err).toMatch(/Stored 2 of 3 videos, 1 failed:\n {2}\d: The request was refused: HTTP 400/);
    expect(end.err).toContain('No foxes today.');
    const results = parseResults(readFileSync(end.out.trim(), 'utf8'));
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'succeeded', 'succeeded']);

    // The same file is the same batch: nothing is paid for again, and the output is the same.
    const again = await home.run(['batch', 'foxes.jsonl'], service());
    expect(again).toMatchObject({ code: EXIT.someFailed, out: end.out });
    expect(emulator.generations()).toHaveLength(2);
  });

  test('for an item whose submit was lost, the decision commands are printed, and one of them works', async () => {
    const paidBefore = emulator.generations().length;
    writeLines(2);
    emulator.next('submit', { kind: 'cut-body' });
    const cli = home.start(['batch', 'foxes.jsonl', '--id', 'foxes'], service());
    await untilErr(cli, /videogen decide foxes-\d --adopt TASK_ID/);
    const [, item = ''] = /videogen decide foxes-(\d)/.exec(cli.err()) ?? [];
    const own = emulator.generations().slice(paidBefore);
    const lost = own.find(({ request }) => request.prompt === `Fox ${item}`)?.taskId ?? '';
    const decided = await home.run(['decide', `foxes-${item}`, '--adopt', lost], service());
    expect(decided).toMatchObject({ code: 0, out: `foxes-${item}\n` });
    expect(await endOf(cli)).toMatchObject({ code: 0 });
    expect(emulator.generations()).toHaveLength(paidBefore + 2);
  });
});
