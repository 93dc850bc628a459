import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  claimTask,
  createFileStorage,
  DamagedEntry,
  digestOfJob,
  EntryLog,
  JobRecord,
  type RemovingStorage,
  readRecordAt,
  recordIds,
  recordOfKey,
  StorageFault,
  type VideoStorage,
} from '../../src/storage';
import { ChildProcesses } from '../support/child-processes';

interface Note {
  id: string;
  text: string;
}

const FOLDER = 'jobs/fox';
const readNote = (value: unknown): Note | undefined => {
  const { id, text }: { id?: unknown; text?: unknown } = Object(value);
  return typeof id === 'string' && typeof text === 'string' ? { id, text } : undefined;
};
const logIn = (storage: Pick<VideoStorage, 'read' | 'create'>) =>
  new EntryLog(storage, `${FOLDER}/`, readNote);
const note = (text: string): Note => ({ id: randomUUID(), text });

async function appendAll(storage: VideoStorage, notes: Note[]): Promise<Note[]> {
  let entries: Note[] = [];
  for (const each of notes) ({ entries } = await logIn(storage).append(each, entries));
  return entries;
}

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-entries-'));
  storage = createFileStorage(folder);
});
afterEach(() => rm(folder, { recursive: true }));

it('a log has its entries in their order, and is read with one call more than it has entries', async () => {
  const notes = ['one', 'two', 'three'].map(note);
  const read = jest.fn(storage.read);
  expect(await logIn({ ...storage, read }).read()).toEqual([]);
  expect(read).toHaveBeenCalledTimes(1);
  expect(await appendAll(storage, notes)).toEqual(notes);
  read.mockClear();
  expect(await logIn({ ...storage, read }).read()).toEqual(notes);
  expect(read).toHaveBeenCalledTimes(4);
});

it('a log has every entry once when 8 writers think again until theirs is in', async () => {
  const notes = Array.from({ length: 8 }, (_each, index) => note(`${index}`));
  const appendInTheEnd = async (each: Note) => {
    let state = await logIn(storage).append(each, []);
    while (!state.appended) state = await logIn(storage).append(each, state.entries);
  };
  await Promise.all(notes.map(appendInTheEnd));
  const entries = await logIn(storage).read();
  expect(entries.map(({ id }) => id).sort()).toEqual(notes.map(({ id }) => id).sort());
});

it('an entry that is late does not replace one that came meanwhile', async () => {
  const [late, quick] = [note('late'), note('quick')];
  let land = () => {};
  const isOver = new Promise<void>((resolve) => {
    land = resolve;
  });
  const create: VideoStorage['create'] = (...entry) => isOver.then(() => storage.create(...entry));
  const appending = logIn({ ...storage, create }).append(late, []);
  expect(await logIn(storage).append(quick, [])).toEqual({ appended: true, entries: [quick] });
  land();
  expect(await appending).toEqual({ appended: false, entries: [quick] });
  expect(await logIn(storage).read()).toEqual([quick]);
});

it.each([
  ['not JSON', '{"id":"1","te'],
  ['not an entry', '{"id":1}'],
  ['too large', JSON.stringify({ id: '1', text: 'x'.repeat(3 * 1024 * 1024) })],
])('an entry that is %s is refused, and the error names its key', async (_what, content) => {
  const first = note('first');
  await appendAll(storage, [first]);
  await storage.write(`${FOLDER}/0002.json`, content, 'application/json');
  const problem = new DamagedEntry(`${FOLDER}/0002.json in the storage is damaged`);
  await expect(logIn(storage).read()).rejects.toThrow(problem);
  await expect(logIn(storage).append(note('next'), [first])).rejects.toThrow(problem);
});

it('a log refuses to add entries of an older log whose first files were removed', async () => {
  await appendAll(storage, ['sending', 'task'].map(note));
  await storage.removeKey?.(`${FOLDER}/0001.json`);
  const sending = note('sending again');
  // The new entry is in, and its writer learns of the older one with the next.
  expect(await logIn(storage).append(sending, [])).toMatchObject({ appended: true });
  const problem = `${FOLDER}/0002.json in the storage does not follow the entry before it`;
  await expect(logIn(storage).append(note('task'), [sending])).rejects.toThrow(problem);
  await expect(logIn(storage).read()).rejects.toThrow(problem);
});

it('a log has at most 9,999 entries', () => {
  expect(logIn(storage).keyOf(9_999)).toBe(`${FOLDER}/9999.json`);
  expect(() => logIn(storage).keyOf(10_000)).toThrow(`${FOLDER}/ has too many entries`);
});

it('an entry that nobody could read is not stored', async () => {
  const appending = logIn(storage).append(note('x'.repeat(1024 * 1024)), []);
  await expect(appending).rejects.toThrow(`${FOLDER}/0001.json would be too large`);
  expect(await logIn(storage).read()).toEqual([]);
});

it('an error says which entry a storage cannot read, and when an entry is neither stored nor found', async () => {
  const fails = async () => {
    throw new StorageFault('not today', { code: 'EIO' });
  };
  const reading = logIn({ ...storage, read: fails }).read();
  await expect(reading).rejects.toMatchObject({
    message: `${FOLDER}/0001.json could not be read: not today`,
    code: 'EIO',
  });
  const append = (broken: Partial<VideoStorage>) => logIn({ ...storage, ...broken }).append(note('x'), []);
  const UNSURE = `${FOLDER}/0001.json was not stored, or may still arrive:`;
  await expect(append({ create: fails })).rejects.toMatchObject({
    message: `${UNSURE} not today`,
    code: 'EIO',
  });
  await expect(append({ create: fails, read: fails })).rejects.toThrow(
    `${UNSURE} not today; ${FOLDER}/0001.json could not be read: not today`,
  );
  await expect(append({ create: async () => false })).rejects.toThrow(
    `${UNSURE} the storage says that it is there already`,
  );
});

const REPOSITORY = resolve(__dirname, '../..');
/** Appends entries until it is killed. */
const WRITER = `
  const { createFileStorage, EntryLog } = require('./src/storage');
  const log = new EntryLog(createFileStorage(process.env.STORAGE), '${FOLDER}/', (value) => value);
  (async () => {
    let entries = await log.read();
    // No more than a busy machine can read in time.
    for (let written = 0; written < 20; written++) {
      const entry = { id: String(Math.random()), text: 'x'.repeat(500_000) };
      ({ entries } = await log.append(entry, entries));
      process.stdout.write('.');
    }
    setInterval(() => {}, 1_000);
  })();
`;

it('readers see whole entries or none while another process writes and when it is killed, and what it leaves is swept', async () => {
  const expectWhole = async () => {
    const entries = await logIn(storage).read();
    for (const { text } of entries) expect(text).toHaveLength(500_000);
    return entries;
  };
  const children = new ChildProcesses();
  const script = resolve(REPOSITORY, 'test/support/run-typescript.cjs');
  const env = { STORAGE: folder };
  for (const reads of [1, 5]) {
    const writer = children.start(['--require', script, '-e', WRITER], { cwd: REPOSITORY, env });
    while (writer.out() === '' && writer.err() === '') await sleep(5);
    for (let read = 0; read < reads; read++) await expectWhole();
    writer.kill('SIGKILL');
    await writer.ended;
    expect(writer.err()).toBe('');
  }
  const entries = await expectWhole();
  await storage.sweep?.(-1_000);
  expect(await readdir(join(folder, FOLDER))).toHaveLength(entries.length);
});

describe('the records of jobs', () => {
  const ids = ['0123456789abcdef', 'fedcba9876543210'];
  const idsOf = async (keys: string[], start: string) => {
    const list: RemovingStorage['list'] = async function* (prefix) {
      for (const key of keys.filter((one) => one.startsWith(prefix))) yield { key, storedAt: new Date(0) };
    };
    return [...(await recordIds({ list }, start))];
  };

  test('are listed by the beginning of a name, each once, and nothing else is taken for one', async () => {
    const firstOf = (name: string) => ids.map((id) => `jobs/${name}.${id}/0001.json`);
    const [fox = ''] = firstOf('fox');
    const others = [
      `${fox}.tmp`,
      fox.replace('0001', '0002'),
      fox.replace('0001.', '0001_'),
      `jobs/a/${fox}`,
    ];
    others.push(`jobs/fox.${ids[0]}0/0001.json`, `jobs/fox.${ids[0]?.slice(1)}/0001.json`);
    others.push(
      `jobs/.${ids[0]}/0001.json`,
      'jobs/fox.0123456789abcdeF/0001.json',
      `jobs/fox-${ids[0]}/0001.json`,
    );
    expect(others.concat(`x${fox}`).filter((key) => recordOfKey(key) !== undefined)).toEqual([]);
    const keys = [...others, ...firstOf('fox'), ...firstOf('fox.v2'), ...firstOf('owl')];
    expect(await idsOf(keys, 'fox')).toEqual([
      ['fox', ids],
      ['fox.v2', ids],
    ]);
    expect(await idsOf(keys, 'hare')).toEqual([]);
  });

  test('are read by their first entry, whichever job they are of, and are no record when that is damaged', async () => {
    const owner = { namespace: 'films', job: 'fox' };
    const record = new JobRecord(storage, owner, digestOfJob(owner, {}));
    const sent = { id: 'send-1', request: { prompt: 'A red fox' }, service: 'kling', repeats: ['lost'] };
    const video = { uri: 'file:///a', bytes: 5, sha256: 'aa', contentType: 'video/mp4', codec: 'avc' };
    await record.add({ event: 'sending', ...sent, cost: { charged: { amount: 1, currency: 'USD' } } });
    await record.add({ event: 'task', send: 'send-1', taskId: 'task-1', warnings: ['w'] });
    await record.add({ event: 'stored', taskId: 'task-1', key: 'a', video, warnings: [] });
    const first = `${record.key}/0001.json`;
    expect(recordOfKey(first)).toEqual({ name: 'fox', id: record.id });
    expect((await readRecordAt(storage, first)).entries).toMatchObject([
      { event: 'sending', ...owner, ...sent, cost: { charged: { amount: 1, currency: 'USD' } } },
      { event: 'task', ...owner, send: 'send-1', taskId: 'task-1', warnings: ['w'] },
      { event: 'stored', ...owner, taskId: 'task-1', key: 'a', video, warnings: [] },
    ]);
    for (const wrong of [
      { ...sent, event: 'sending' },
      { id: 'x', at: 'now', ...owner, event: 'forgotten' },
    ]) {
      await storage.write(first, JSON.stringify(wrong), 'application/json');
      await expect(readRecordAt(storage, first)).rejects.toThrow(`${first} in the storage is damaged`);
    }
  });
});

describe('a claim of a task', () => {
  const TASK = { service: 'kling', taskId: 'task-1' };
  const job = (name: string, namespace = 'default') => ({ namespace, job: name });
  const holder = () => claimTask(storage, TASK, job('somebody else'));

  test('tasks of the same id at other services, and ids of any shape, are tasks of their own', async () => {
    const tasks = [
      TASK,
      { taskId: 'task-1' },
      { service: 'runway', taskId: 'task-1' },
      { taskId: '../../jobs/fox' },
      { taskId: '' },
      { taskId: `x\0/${'y'.repeat(5_000)}` },
      { service: 'a', taskId: 'b"]' },
      { service: 'a","b', taskId: '"]' },
    ];
    for (const [index, task] of tasks.entries())
      expect(await claimTask(storage, task, job(`fox-${index}`))).toBeUndefined();
    expect(await readdir(folder)).toEqual(['tasks']);
    expect(await readdir(join(folder, 'tasks'))).toHaveLength(tasks.length);
  });

  test('a task belongs to one job, and of several that take it over, one gets it', async () => {
    for (let times = 0; times < 2; times++)
      expect(await claimTask(storage, TASK, job('fox'))).toBeUndefined();
    const dead = await holder();
    expect(await claimTask(storage, TASK, job('fox', 'another namespace'))).toEqual(dead);
    const jobs = Array.from({ length: 10 }, (_, index) => job(`owl-${index}`));
    const claims = await Promise.all(jobs.map((each) => claimTask(storage, TASK, each, dead)));
    const winners = jobs.filter((_, index) => claims[index] === undefined);
    expect(winners).toHaveLength(1);
    expect(await holder()).toMatchObject({ ...winners[0] });
    expect(await claimTask(storage, TASK, job('fox'))).toMatchObject({ ...winners[0] });
  });

  test('a damaged claim is an error that names its file, never a task that nobody has', async () => {
    await claimTask(storage, TASK, job('fox'));
    const [claim = ''] = await readdir(join(folder, 'tasks'));
    const file = join('tasks', claim);
    await rm(join(folder, file));
    await writeFile(join(folder, file), '{"job":"owl"}');
    await expect(claimTask(storage, TASK, job('owl'))).rejects.toThrow(`${file} in the storage is damaged`);
  });
});
