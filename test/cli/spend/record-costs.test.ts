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

let id = 0;
async function write(content: object | string, modifiedAt = AT): Promise<string> {
  const key = `jobs/fox.${String(++id).padStart(16, '0')}.json`;
  const text =
    typeof content === 'string' ? content : JSON.stringify({ namespace: 'films', job: 'fox', ...content });
  await storage.write(key, text, 'application/json');
  utimesSync(join(folder, key), new Date(modifiedAt), new Date(modifiedAt));
  return key;
}

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
  await write({ state: 'submitted', taskId: 't1', submittedAt: AT, service: 'Ark', cost: COST });
  expect(await read()).toEqual({
    jobs: [{ name: 'fox', at: new Date(AT), taskId: 't1', service: 'Ark', cost: COST }],
    damaged: [],
  });
});

test('a record from before costs counts by the time of its file, with an unknown cost', async () => {
  await write({ state: 'submitted', taskId: 't1' });
  await write({ state: 'sending', send: 's', sender: 's', at: '2026-11-16T13:00:00Z' });
  expect((await read()).jobs).toMatchObject([
    { taskId: 't1', at: new Date(AT), cost: undefined },
    { taskId: undefined, at: new Date('2026-11-16T13:00:00Z') },
  ]);
});

test('what was never paid for, is of another namespace or of another day is not counted', async () => {
  await write({ state: 'refused', keySent: true });
  await write({ namespace: 'other', state: 'submitted', taskId: 't1' });
  await write({ state: 'submitted', taskId: 't2', submittedAt: '2026-11-15T12:00:00Z' });
  await write({ state: 'submitted', taskId: 't3', submittedAt: '2026-11-17T00:00:00Z' });
  // Not even read: it was written last before the day.
  await write('damaged long ago', '2026-11-15T12:00:00Z');
  await storage.write('jobs/learned-times.json', '{}', 'application/json');
  expect(await read()).toEqual({ jobs: [], damaged: [] });
});

test('a refused submit after a lost one may have been paid for', async () => {
  await write({ state: 'refused', keySent: true, lostSubmit: 'attempt 1 ended' });
  expect((await read()).jobs).toHaveLength(1);
});

test('damaged records are named and skipped', async () => {
  const keys = [await write('{"state":'), await write({ state: 'paid' }), await write('x'.repeat(2_000_000))];
  await write({ state: 'submitted', taskId: 't1', cost: { charged: { amount: -5, currency: 'USD' } } });
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
