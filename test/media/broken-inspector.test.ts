import { endInspector, inspectFile } from '../../src/media';
import { INSPECT_ENTRY } from '../support/inspect-entry';

const entry = [...INSPECT_ENTRY];
afterEach(() => {
  endInspector();
  jest.useRealTimers();
  INSPECT_ENTRY.splice(0, Infinity, ...entry);
});

/** Another program instead of the process that inspects videos. It says that it is ready, and then does this with each path. */
function instead(withPath: string): void {
  const program = `process.send({}); process.on('message', (path) => { ${withPath} });`;
  INSPECT_ENTRY.splice(0, Infinity, '-e', program);
}
const answer = (more: string) =>
  `process.send({ inspection: { kind: 'no-video', reason: String(process.pid) }, ${more} });`;
const SMALL = 'rssBytes: 1e6';
const LARGE = 'rssBytes: 1e9';

const TOO_MUCH = 'reading its tables takes more time or memory than any video needs';
const reasonOf = async (path: string) => {
  const inspection = await inspectFile(path);
  return inspection.kind === 'no-video' ? inspection.reason : 'it is a video';
};

it('one process inspects file after file', async () => {
  instead(answer(SMALL));
  const reasons = await Promise.all(['a', 'b', 'c'].map(reasonOf));
  expect(new Set(reasons).size).toBe(1);
});

it('a process that has grown too large is replaced', async () => {
  instead(answer(LARGE));
  expect(await reasonOf('a')).not.toBe(await reasonOf('b'));
});

it('a process that dies over a file is replaced once, and the next file is inspected', async () => {
  instead(`if (path === 'bad') process.exit(1); ${answer(SMALL)}`);
  const first = await reasonOf('good');
  expect(await reasonOf('bad')).toBe(TOO_MUCH);
  expect(await reasonOf('good')).toMatch(/^\d+$/);
  expect(await reasonOf('good')).not.toBe(first);
});

it('a process that hangs over a file is killed, and the next file is inspected', async () => {
  instead(`if (path === 'bad') for (;;); ${answer(SMALL)}`);
  await reasonOf('good');
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
  const hanging = reasonOf('bad');
  await new Promise((resolve) => setImmediate(resolve));
  await jest.advanceTimersByTimeAsync(20_000);
  expect(await hanging).toBe(TOO_MUCH);
  jest.useRealTimers();
  expect(await reasonOf('good')).toMatch(/^\d+$/);
});

it('a process that cannot start is said, and no file is blamed', async () => {
  INSPECT_ENTRY.splice(0, Infinity, '/no/such/inspect-process.js');
  await expect(inspectFile('a')).rejects.toThrow(
    /^The process that inspects videos did not start: \/no\/such\/inspect-process.js must exist as a file of its own, not bundled/,
  );
});

it('a file that cannot be read is said, and is not called a bad video', async () => {
  await expect(inspectFile('/no/such/video')).rejects.toThrow('the file cannot be inspected: Error: ENOENT');
});
