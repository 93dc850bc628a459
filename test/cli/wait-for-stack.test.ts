import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { openLocalStack } from '../../src/cli/local-stack';
import { joinOrClaim, readStackNote } from '../../src/cli/stack-note';
import { printLine } from '../../src/cli/terminal';
import { FakeTerminal } from './fake-terminal';

let folder: string;
let place: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-wait-'));
  place = join(folder, 'stack.running');
});
afterEach(() => rmSync(folder, { recursive: true }));

const note = { pid: process.pid, serverPid: 1, address: '127.0.0.1:1', namespace: 'default', storage: 's' };
const open = async () => {
  const joined: unknown[] = [];
  const options = { terminal: new FakeTerminal(), printLine: () => undefined };
  const access = await joinOrClaim(folder, async (read) => void joined.push(read), options);
  if (!('claim' in access)) throw new Error('it joined');
  return { ...access.claim, joined };
};

test('a command that waits for another process to start the stack says so once, and Ctrl-C ends the wait', async () => {
  const { release } = await open();
  const env = { VIDEOGEN_DATA: folder, VIDEOGEN_STORAGE: join(folder, 'videos') };
  const terminal = new FakeTerminal(env);
  const opening = openLocalStack({ env, terminal, printLine: (line) => printLine(terminal, line) }).catch(
    (error: unknown) => error,
  );
  while (terminal.stderr === '') await sleep(50);
  await sleep(500);
  expect(terminal.stderr).toBe(
    `Waiting for process ${process.pid} on ${hostname()}, which is starting or stopping Temporal in ${folder}. Press Ctrl-C to stop waiting.\n`,
  );
  terminal.interrupt();
  const error = await opening;
  expect(exitCodeOf(error)).toBe(130);
  expect(error).toMatchObject({
    message: `Stopped before anything was started: process ${process.pid} still uses ${folder}.`,
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

test('others read the note until it is removed', async () => {
  const { writeNote, removeNote, release } = await open();
  expect(await readStackNote(folder)).toBeUndefined();
  await writeNote(note);
  expect(await readStackNote(folder)).toEqual(note);
  await removeNote();
  expect(await readStackNote(folder)).toBeUndefined();
  await release();
});

test.each([
  ['a process that has ended', `999999999@${hostname()}`, true],
  ['a process of another machine, which cannot be asked', '999999999@elsewhere', false],
])('%s: its claim is taken over at once: %s', async (_what, holder, isTaken) => {
  mkdirSync(place);
  writeFileSync(join(place, holder), JSON.stringify(note));
  const opened = open();
  const first = await Promise.race([opened, sleep(600, 'waits')]);
  expect(first !== 'waits').toBe(isTaken);
  rmSync(join(place, holder), { force: true });
  const { release, joined } = await opened;
  expect(joined.length > 0).toBe(!isTaken);
  await release();
});
