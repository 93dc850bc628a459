import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPeriod } from '../../../src/cli/spend';
import { recordedJobs } from '../../../src/cli/spend/record-costs';
import type { SpentJob } from '../../../src/cli/spend/spend-book';
import { createFileStorage, type VideoStorage } from '../../../src/storage';

const AT = '2026-11-16T12:00:00.000Z';
const period = { since: new Date('2026-11-16T00:00:00Z'), until: new Date('2026-11-17T00:00:00Z') };
const COST = { estimated: { amount: 0.5, currency: 'USD' } };

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
    const text =
      typeof content === 'string'
        ? content
        : JSON.stringify({
            id: String(index + 1),
            at,
            namespace: 'films',
            job: 'fox',
            ...follows,
            ...content,
          });
    await storage.write(key, text, 'application/json');
    utimesSync(join(folder, key), new Date(at), new Date(at));
  }
  return `${folderOfRecord}/0001.json`;
}

const sending = (more: object = {}) => ({ event: 'sending', request: {}, ...more });
const refused = (send: string, more: object = {}) => ({
  event: 'refused',
  send,
  outcome: 'refused',
  ...more,
});
const task = (taskId: string, more: object = {}) => ({ event: 'task', send: '1', taskId, ...more });

async function read(): Promise<{ jobs: SpentJob[]; damaged: string[] }> {
  const [jobs, damaged]: [SpentJob[], string[]] = [[], []];
  const records = recordedJobs({
    storage,
    namespace: 'films',
    period,
    onDamaged: (key) => damaged.push(key),
  });
  for await (const job of records ?? []) jobs.push(job);
  return { jobs, damaged };
}

test('a record says when, to whom and how much', async () => {
  await write(sending({ service: 'ark', cost: COST }), task('t1', { service: 'ark', cost: COST }));
  expect(await read()).toEqual({
    jobs: [{ name: 'fox', at: new Date(AT), taskId: 't1', service: 'ark', cost: COST }],
    damaged: [],
  });
});

test('what the service charged counts instead of the estimate, also if that is nothing', async () => {
  const nothing = { charged: { amount: 0, currency: 'USD' } };
  const video = { uri: 'file:///fox.mp4', bytes: 1, sha256: 'x', contentType: 'video/mp4' };
  const stored = { event: 'stored', taskId: 't1', key: 'fox.mp4', video, warnings: [], cost: nothing };
  await write(sending({ cost: COST }), task('t1', { cost: COST }), stored);
  expect((await read()).jobs).toMatchObject([{ cost: { ...COST, ...nothing } }]);
});

test('what was never paid for, is of another namespace or of another day is not counted', async () => {
  await write(sending(), refused('1'));
  await write({ ...sending(), namespace: 'other' }, { ...task('t1'), namespace: 'other' });
  await write(sending({ at: '2026-11-15T12:00:00Z' }), task('t2'));
  await write(sending({ at: '2026-11-17T00:00:00Z' }), task('t3', { at: '2026-11-17T00:00:00Z' }));
  const damaged = await write('damaged long ago');
  const longAgo = new Date('2026-11-15T12:00:00Z');
  // Not even read: it was written last before the day.
  utimesSync(join(folder, damaged), longAgo, longAgo);
  await storage.write('jobs/learned-times.json', '{}', 'application/json');
  expect(await read()).toEqual({ jobs: [], damaged: [] });
});

test('each send that was not refused may have been paid for: lost ones too, and those that were repeated', async () => {
  await write(sending({ cost: COST }));
  await write(sending({ cost: COST }), sending({ repeats: ['1'], cost: COST }), task('t1', { send: '2' }));
  await write(sending({ cost: COST }), sending({ repeats: ['1'] }), refused('2'));
  const { jobs } = await read();
  expect(jobs.map(({ taskId, cost }) => [taskId, cost?.lostSubmits])).toEqual([
    [undefined, 1],
    ['t1', 1],
    [undefined, 1],
  ]);
});

test('damaged records are named and skipped', async () => {
  const keys = [
    await write('{"event":'),
    await write({ event: 'paid' }),
    await write('x'.repeat(2_000_000)),
    await write(sending(), 'gone'),
  ];
  await write(sending(), task('t1', { cost: { charged: { amount: -5, currency: 'USD' } } }));
  const { jobs, damaged } = await read();
  expect(damaged.sort()).toEqual(keys);
  expect(jobs).toMatchObject([{ taskId: 't1', cost: undefined }]);
});

test('a storage of your own that cannot list its files has no records to read', () => {
  const { list: _list, ...own } = storage;
  expect(
    recordedJobs({ storage: own, namespace: 'films', period, onDamaged: () => undefined }),
  ).toBeUndefined();
});

test.each([
  [{ since: '7d' }, '2026-11-10T00:00:00.000Z', '2026-11-17T00:00:00.000Z'],
  [{ since: '2026-11-01', until: '1d' }, '2026-11-01T00:00:00.000Z', '2026-11-16T00:00:00.000Z'],
])('%j is a time', (options, since, until) => {
  const read = readPeriod(options, Date.parse('2026-11-17T00:00:00Z'));
  expect([read.since.toISOString(), read.until.toISOString()]).toEqual([since, until]);
});

test.each([{ since: 'yesterday' }, { since: '1d', until: 'x1' }, { since: '1d', until: '2d' }])(
  '%j is refused with the option',
  (options) => {
    expect(() => readPeriod(options, Date.now())).toThrow(/^--(since|until) is ".*"/);
  },
);
