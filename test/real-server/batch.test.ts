import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseResults, type VideoRequest } from '../../src/contract';
import { type Emulator, startEmulator } from '../../src/emulator';
import { endOf, Home, until } from '../cli/cli-process';

// A thousand videos, and three servers to start.
jest.setTimeout(300_000);

let home: Home;
let emulator: Emulator;
beforeEach(async () => {
  home = new Home();
  emulator = await startEmulator({
    apiKey: 'sk-batch',
    jobTimeMs: 1_000,
    idempotencyKeys: 'honoured',
    videoBytes: 16 * 1024,
  });
});
afterEach(async () => {
  await home.remove();
  await emulator.close();
});

const service = () => ({ VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: 'sk-batch' });

function writeLines(count: number): VideoRequest[] {
  const requests = Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}`, seed: index }));
  writeFileSync(
    join(home.folder, 'foxes.jsonl'),
    requests.map((request) => `${JSON.stringify(request)}\n`).join(''),
  );
  return requests;
}

const videos = () => readdirSync(home.videos).filter((name) => name.endsWith('.mp4'));
const storedSoFar = () => {
  try {
    return videos().length;
  } catch {
    return 0;
  }
};

test('a thousand lines, killed twice on the way, end with a thousand files and a thousand paid generations', async () => {
  const requests = writeLines(1_000);
  // The service knows a key again, so what was lost with a killed worker may be sent once more.
  const args = ['batch', 'foxes.jsonl', '--window', '100', '--on-lost-submit', 'resubmit', '--json'];
  for (const killAt of [250, 600]) {
    const cli = home.start(args, service());
    await until(`${killAt} videos`, () => storedSoFar() >= killAt, cli.err);
    // Worker, client and, by its lock on the database, the server.
    cli.kill('SIGKILL');
    await cli.ended;
    const note = home.note();
    if (note) process.kill(note.serverPid, 'SIGKILL');
  }
  const end = await endOf(home.start(args, service()));

  expect(end).toMatchObject({ code: 0 });
  expect(JSON.parse(end.out)).toMatchObject({ items: 1_000, succeeded: 1_000, failed: 0 });
  expect(videos()).toHaveLength(1_000);
  expect(emulator.generations()).toHaveLength(1_000);
  const paid = emulator.generations().map(({ request }) => request.prompt);
  expect(new Set(paid)).toEqual(new Set(requests.map(({ prompt }) => prompt)));
  const { key } = JSON.parse(end.out).results;
  const results = parseResults(readFileSync(join(home.videos, key), 'utf8'));
  expect(results.map(({ item }) => item)).toEqual(requests.map((_, index) => index + 1));
});
