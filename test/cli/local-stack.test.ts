import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { openLocalStack } from '../../src/cli/local-stack';
import { imagesFrom } from '../../src/cli/local-workers';
import { withJobs } from '../../src/cli/open-jobs';
import { joinOrClaim } from '../../src/cli/stack-note';
import { EXIT } from '../../src/cli/terminal';
import { FakeTerminal } from './fake-terminal';

jest.mock('../../src/cli/local-stack');
jest.mock('../../src/client/video-client', () => ({ createVideoClient: async () => ({}) }));

const { openLocalStack: openReally }: typeof import('../../src/cli/local-stack') =
  jest.requireActual('../../src/cli/local-stack');

const GATEWAY = 'http://127.0.0.1:8787';

let folder: string;
let place: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-wait-'));
  place = join(folder, 'stack.running');
});
afterEach(() => rmSync(folder, { recursive: true }));

const note = {
  pid: process.pid,
  serverPid: process.pid,
  address: '127.0.0.1:1',
  namespace: 'default',
  storage: 's',
};
const open = async () => {
  const joined: unknown[] = [];
  const access = await joinOrClaim(folder, async (read) => void joined.push(read), new FakeTerminal());
  if (!('claim' in access)) throw new Error('it joined');
  return { ...access.claim, joined };
};

test('a command that waits for another process to start the stack says so once, and Ctrl-C ends the wait', async () => {
  const { release } = await open();
  const env = { VIDEOGEN_DATA: folder, VIDEOGEN_STORAGE: join(folder, 'videos') };
  const terminal = new FakeTerminal(env);
  const opening = openReally(terminal).catch((error: unknown) => error);
  while (terminal.stderr === '') await sleep(50);
  await sleep(500);
  expect(terminal.stderr).toBe(
    `Waiting for process ${process.pid}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting. If it no longer runs, delete ${join(place, `${process.pid}@${hostname()}`)}.\n`,
  );
  terminal.interrupt();
  const error = await opening;
  expect(exitCodeOf(error)).toBe(130);
  expect(error).toMatchObject({
    message: 'Stopped before the Temporal server was ready. Nothing was started.',
  });
  expect(terminal.listeners).toBe(0);
  await release();
}, 20_000);

test('only one of many processes has the claim at a time, and the next gets it after the release', async () => {
  let holders = 0;
  const most: number[] = [];
  const hold = async () => {
    const { release } = await open();
    holders += 1;
    most.push(holders);
    await sleep(20);
    holders -= 1;
    await release();
  };
  await Promise.all(Array.from({ length: 5 }, hold));
  expect(most).toEqual([1, 1, 1, 1, 1]);
});

test.each([
  ['a process that has ended', `999999999@${hostname()}`, true],
  ['a pid that another program has after a crash', `${process.ppid}@${hostname()}`, true],
  ['a process of another machine, which cannot be asked', '999999999@elsewhere', false],
])('%s: its claim is taken over at once: %s', async (_what, holder, isTaken) => {
  mkdirSync(place);
  const serverPid = holder.startsWith(`${process.ppid}@`) ? 999999999 : process.pid;
  writeFileSync(join(place, holder), JSON.stringify({ ...note, serverPid }));
  const opened = open();
  if (!isTaken) {
    expect(await Promise.race([opened, sleep(600, 'waits')])).toBe('waits');
    rmSync(join(place, holder));
  }
  const { release, joined } = await opened;
  expect(joined.length > 0).toBe(!isTaken);
  await release();
});

test('a data folder that the server would misread, or that is a file, is refused with its variable', async () => {
  const opening = (VIDEOGEN_DATA: string) =>
    openReally(new FakeTerminal({ VIDEOGEN_DATA, VIDEOGEN_STORAGE: join(folder, 'videos') }));
  const misread = join(folder, 'no #1', 'data');
  await expect(opening(misread)).rejects.toThrow(
    `The data folder ${misread} has ?, # or % in its path, which the Temporal dev server misreads: set VIDEOGEN_DATA to a folder without them.`,
  );
  const file = join(folder, 'file');
  writeFileSync(file, 'mine');
  await expect(opening(file)).rejects.toThrow(
    `The data folder ${file} cannot be used (EEXIST): set VIDEOGEN_DATA to a folder you can write to.`,
  );
});

test.each([
  ['http://localhost:4000/', GATEWAY],
  ['https://api.example.com/', undefined],
  [undefined, undefined],
])('a service at %s fetches images from %s', (baseUrl, expected) => {
  expect(imagesFrom([undefined, { baseUrl }], GATEWAY)).toBe(expected);
});

test.each([EXIT.ok, EXIT.someFailed])(
  'a command that has ended with %d is not run again when the process that ran Temporal ends',
  async (code) => {
    const client = { withAbortSignal: (_signal: unknown, work: () => unknown) => work() };
    let end = () => {};
    jest.mocked(openLocalStack).mockImplementation(async () => {
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      return { client, note: {}, taskQueue: 'q', ended, close: async () => undefined } as never;
    });
    const run = jest.fn(async () => {
      end();
      await turn();
      return code;
    });
    const terminal = new FakeTerminal();
    expect(await withJobs(terminal, { withWorker: true, run })).toBe(code);
    expect([run.mock.calls.length, terminal.stderr]).toEqual([1, '']);
  },
);
