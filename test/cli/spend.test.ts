import { mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { FakeTerminal } from './fake-terminal';

const AT = '2026-11-16T12:00:00.000Z';
const NEXT_DAY = '2026-11-17T12:00:00.000Z';
const usd = (amount: number) => ({ amount, currency: 'USD' });
const COST = { estimated: usd(0.5) };

let folder: string;
let storage: VideoStorage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-records-'));
  storage = createFileStorage(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

let records = 0;
/** Writes the entries of a new record; returns the key of the first. */
async function write(...entries: (object | string)[]): Promise<string> {
  const folderOfRecord = `jobs/fox.${String(++records).padStart(16, '0')}`;
  for (const [index, content] of entries.entries()) {
    const key = `${folderOfRecord}/000${index + 1}.json`;
    const { at = AT }: { at?: string } = typeof content === 'string' ? {} : content;
    const follows = index === 0 ? {} : { follows: String(index) };
    const known = { id: String(index + 1), at, namespace: 'films', job: 'fox', ...follows };
    const text = typeof content === 'string' ? content : JSON.stringify({ ...known, ...content });
    await storage.write(key, text, 'application/json');
    utimesSync(join(folder, key), new Date(at), new Date(at));
  }
  return `${folderOfRecord}/0001.json`;
}

const sending = (more: object = {}) => ({ event: 'sending', request: {}, ...more });
const refused = (send: string) => ({ event: 'refused', send, outcome: 'refused' });
const task = (taskId: string, more: object = {}) => ({ event: 'task', send: '1', taskId, ...more });

async function videogen(args: string[], isOutTerminal?: boolean) {
  const env = { VIDEOGEN_STORAGE: folder, TEMPORAL_NAMESPACE: 'films', HOME: folder };
  const terminal = new FakeTerminal(env, false, isOutTerminal);
  const code = await run(['spend', '--since', '2026-11-16', ...args], terminal);
  return { code, out: terminal.stdout, err: terminal.stderr };
}
const spent = async () => JSON.parse((await videogen(['--json'])).out);

test('the sums never mix currencies, and each video is in one group of each table', async () => {
  const job = `gateway-web_shop-video_${'0'.repeat(32)}`;
  await write(
    sending({ service: 'ark', cost: COST }),
    task('t1', { service: 'ark', cost: { charged: usd(0.45) } }),
  );
  await write(sending({ job, cost: COST }), task('t2', { job }));
  await write(sending({ at: NEXT_DAY, cost: { estimated: { amount: 12, currency: 'credits' } } }));
  await write(sending(), task('t3', { cost: { unknown: 'no duration' } }));
  // A second job that adopted a task of another one.
  await write(sending(), task('t1', { cost: COST }));
  expect((await videogen([], true)).out.split('\n').map((line) => line.trimEnd())).toEqual(
    [
      'SERVICE  VIDEOS  CHARGED   ESTIMATED              UNKNOWN',
      '-        3                 0.50 USD + 12 credits  1',
      'ark      1       0.45 USD',
      'total    4       0.45 USD  0.50 USD + 12 credits  1',
      '',
      'CALLER    VIDEOS  CHARGED   ESTIMATED   UNKNOWN',
      '-         3       0.45 USD  12 credits  1',
      'web_shop  1                 0.50 USD',
      'total     4       0.45 USD  0.50 USD + 12 credits  1',
      '',
      'DAY         VIDEOS  CHARGED   ESTIMATED   UNKNOWN',
      '2026-11-16  3       0.45 USD  0.50 USD    1',
      '2026-11-17  1                 12 credits',
      'total       4       0.45 USD  0.50 USD + 12 credits  1',
      '',
    ].map((line) =>
      expect.stringMatching(new RegExp(`^${line.replace(/[+]/g, '\\+').replace(/ +/g, ' +')}$`)),
    ),
  );
  expect(await spent()).toMatchObject({ videos: 4, charged: [usd(0.45)], unknown: 1 });
});

test('what the service charged counts instead of the estimate, also if that is nothing', async () => {
  const video = { uri: 'file:///fox.mp4', bytes: 1, sha256: 'x', contentType: 'video/mp4' };
  const stored = {
    event: 'stored',
    taskId: 't1',
    key: 'fox.mp4',
    video,
    warnings: [],
    cost: { charged: usd(0) },
  };
  await write(sending({ cost: COST }), task('t1', { cost: COST }), stored);
  expect(await spent()).toMatchObject({ videos: 1, charged: [usd(0)], estimated: [], unknown: 0 });
});

test('what was never paid for, is of another namespace or was submitted before is not counted', async () => {
  await write(sending(), refused('1'));
  await write({ ...sending(), namespace: 'other' }, { ...task('t1'), namespace: 'other' });
  await write(sending({ at: '2026-11-15T12:00:00Z' }), task('t2'));
  const damaged = await write('damaged long ago');
  const longAgo = new Date('2026-11-15T12:00:00Z');
  // Not even read: it was written last before the day.
  utimesSync(join(folder, damaged), longAgo, longAgo);
  await storage.write('jobs/learned-times.json', '{}', 'application/json');
  expect(await videogen(['--json'])).toMatchObject({ code: 0, err: '' });
  expect(await spent()).toMatchObject({ videos: 0, charged: [], estimated: [], unknown: 0 });
});

test.each<[string, object[], number]>([
  [
    'a lost submit and its repetition',
    [sending({ cost: COST }), sending({ repeats: ['1'], cost: COST }), task('t1', { send: '2' })],
    2,
  ],
  [
    'a lost submit whose repetition was refused',
    [sending({ cost: COST }), sending({ repeats: ['1'], cost: COST }), refused('2')],
    1,
  ],
])('each send that was not refused may have been paid for: %s', async (_what, entries, videos) => {
  await write(...entries);
  expect(await spent()).toMatchObject({ videos, estimated: [usd(0.5 * videos)] });
});

test('damaged records are named and skipped, and a storage that cannot be read is an error', async () => {
  const keys = [await write('{"event":'), await write({ event: 'paid' }), await write('x'.repeat(2_000_000))];
  await write(sending(), task('t1', { cost: { charged: { amount: -5, currency: 'USD' } } }));
  const { code, out, err } = await videogen(['--json']);
  expect([code, JSON.parse(out)]).toMatchObject([0, { videos: 1, unknown: 1 }]);
  expect(err.trimEnd().split('\n').sort()).toEqual(keys.map((key) => `${key} is damaged and was skipped.`));

  rmSync(join(folder, 'jobs'), { recursive: true });
  symlinkSync('jobs', join(folder, 'jobs'));
  expect((await videogen(['--json'])).code).not.toBe(0);
});

test.each(['yesterday', '2026-13-45', '1e400d'])('--since %j is refused with the fix', async (since) => {
  expect(await videogen(['--since', since])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^--since is ".*": give .+\.\n$/),
  });
});
