import { Readable } from 'node:stream';
import { LEARNED_TIMES_KEY, LearnedTimes } from '../../../activities/polls/learned-times';
import type { VideoStorage } from '../../../src/storage';
import { startAttempt } from '../activity-world';

const KIND = 'https://ark.example/ text 720p 5s';
const task = (ms: number, kind = KIND) => ({ kind, afterMs: ms - 1, byMs: ms + 1 });
const learnedKind = (endedMs: number[], kind = KIND) => ({ kind, endedMs });

let file: string | undefined;
let reads: number;
let nowMs: number;
let failsToWrite: boolean;
beforeEach(() => {
  [file, reads, nowMs, failsToWrite] = [undefined, 0, 0, false];
});

const storage = {
  read: async () => {
    reads += 1;
    return file === undefined ? undefined : Readable.from([Buffer.from(file)]);
  },
  write: async (key: string, content: string) => {
    if (failsToWrite) throw new Error('the disk is full');
    expect(key).toBe(LEARNED_TIMES_KEY);
    file = content;
    return { uri: key };
  },
} as object as VideoStorage;

const learnedTimes = () => new LearnedTimes(storage, () => nowMs);
const withFile = (...kinds: object[]) => {
  file = JSON.stringify({ kinds });
};
const kinds = () => JSON.parse(file ?? '{}').kinds;
const endedIn = (content: { endedMs: number[] }[]) => content.map(({ endedMs }) => endedMs);

/** Warnings go to the log of an activity. */
async function inActivity(work: () => Promise<unknown>): Promise<string> {
  const reported: unknown[] = [];
  await startAttempt(work, undefined, {}, reported).result;
  return JSON.stringify(reported);
}

test('the file is read at most once a minute', async () => {
  const times = learnedTimes();
  for (const [at, expected] of [
    [0, 1],
    [59_999, 1],
    [60_000, 2],
  ] as const) {
    nowMs = at;
    await times.refresh();
    expect(reads).toBe(expected);
  }
});

test('what other workers learned is known after it was read, of this kind alone', async () => {
  const times = learnedTimes();
  withFile(learnedKind([1], 'another'));
  await times.refresh();
  expect(times.endedOf(KIND)).toEqual([]);
  withFile(learnedKind([62_500]));
  nowMs = 60_000;
  await times.refresh();
  expect(times.endedOf(KIND)).toEqual([62_500]);
});

test('tasks are written every five seconds, together', async () => {
  const times = learnedTimes();
  await times.learn(task(1));
  nowMs = 4_999;
  await times.learn(task(2));
  expect(endedIn(kinds())).toEqual([[1]]);
  nowMs = 5_000;
  await times.learn(task(3));
  expect(endedIn(kinds())).toEqual([[1, 2, 3]]);
});

test('a task that could not be written is written with the next one, and the failure is logged once', async () => {
  const times = learnedTimes();
  failsToWrite = true;
  const log = await inActivity(async () => {
    await times.learn(task(1));
    nowMs = 5_000;
    await times.learn(task(2));
  });
  expect(log.match(/the disk is full/g)).toHaveLength(1);
  failsToWrite = false;
  nowMs = 10_000;
  await times.learn(task(3));
  expect(endedIn(kinds())).toEqual([[1, 2, 3]]);
});

test('of each kind the last 100 tasks stay, and of the kinds the last 64', async () => {
  const many = Array.from({ length: 100 }, (_, index) => index);
  const others = Array.from({ length: 63 }, (_, index) => learnedKind([1], `other ${index}`));
  withFile(learnedKind(many), ...others);
  const times = learnedTimes();
  await times.learn(task(999));
  expect(kinds()).toHaveLength(64);
  expect(endedIn([kinds().at(-1)])[0]?.slice(-2)).toEqual([99, 999]);
  expect(kinds().at(-1).endedMs).toHaveLength(100);
  nowMs = 5_000;
  await times.learn(task(1, 'new'));
  expect(kinds()).toHaveLength(64);
  expect([kinds()[0].kind, kinds().at(-1).kind]).toEqual(['other 1', 'new']);
});

test('only the last 100 tasks are known, those that are not written yet among them', async () => {
  withFile(learnedKind(Array<number>(100).fill(90_000)));
  const times = learnedTimes();
  for (let learned = 0; learned < 60; learned++) await times.learn(task(1_000));
  expect(times.endedOf(KIND)).toEqual([...Array(40).fill(90_000), ...Array(60).fill(1_000)]);
});

test.each([{ afterMs: 'soon' }, { byMs: Number.NaN }, { kind: 7 }, { afterMs: -10 }])(
  'what no job could have measured is not learned: %j',
  async (wrong) => {
    expect(await inActivity(() => learnedTimes().learn({ ...task(1), ...wrong } as never))).not.toContain(
      'learned',
    );
    expect(file).toBeUndefined();
  },
);

test.each(['{', '[]', '{"kinds":[{"kind":5}]}'])(
  'the damaged file %s counts as empty, with a warning',
  async (content) => {
    file = content;
    const times = learnedTimes();
    expect(await inActivity(() => times.refresh())).toContain('learned-times.json could not be read');
    expect(times.endedOf(KIND)).toEqual([]);
  },
);
