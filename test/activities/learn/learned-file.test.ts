import { Readable } from 'node:stream';
import { LEARNED_TIMES_KEY, LearnedTimes } from '../../../activities/learn/learned-times';
import type { VideoStorage } from '../../../src/storage';
import { startAttempt } from '../activity-world';

const HERE = 'https://ark.example/';
const REQUEST = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const KIND = 'text 720p 5s';
const task = (afterMs: number, kind = KIND) => ({ kind, afterMs, byMs: afterMs + 10 });
const learnedKind = (ended: number[][], kind = KIND, service = HERE) => ({ service, kind, ended });

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

const timesAt = (address: string | undefined = HERE) =>
  new LearnedTimes({ ...(address !== undefined && { address }) }, storage, () => nowMs);
const withFile = (...kinds: object[]) => {
  file = JSON.stringify({ kinds });
};
const kinds = () => JSON.parse(file ?? '{}').kinds;
const endedIn = (content: { ended: number[][] }[]) =>
  content.map(({ ended }) => ended.map(([after]) => after));

/** Warnings go to the log of an activity. */
async function inActivity(work: () => Promise<unknown>): Promise<string> {
  const reported: unknown[] = [];
  await startAttempt(work, undefined, {}, reported).result;
  return JSON.stringify(reported);
}

test('the file is read at most once a minute', async () => {
  const times = timesAt();
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

test('what other workers learned is known after it was read, for this service and this kind alone', async () => {
  const times = timesAt();
  withFile(learnedKind([[1, 2]], 'image'), learnedKind([[1, 2]], KIND, 'https://other.example/'));
  await times.refresh();
  expect(times.usualTimesFor(REQUEST)).toEqual({});
  withFile(learnedKind([[60_000, 65_000]]));
  nowMs = 60_000;
  await times.refresh();
  expect(times.usualTimesFor(REQUEST)).toHaveProperty('usualTimes');
});

test('of a service without an address nothing is learned', async () => {
  const times = new LearnedTimes({}, storage, () => nowMs);
  await times.refresh();
  await times.learn(task(5));
  expect([times.kindFor(REQUEST), reads, file]).toEqual([{}, 0, undefined]);
});

test('tasks are written every five seconds, together', async () => {
  const times = timesAt();
  await times.learn(task(1));
  nowMs = 4_999;
  await times.learn(task(2));
  expect(endedIn(kinds())).toEqual([[1]]);
  nowMs = 5_000;
  await times.learn(task(3));
  expect(endedIn(kinds())).toEqual([[1, 2, 3]]);
});

test('a task that could not be written is written with the next one, and the failure is logged once', async () => {
  const times = timesAt();
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

test('of each kind the last 200 tasks stay, and of the kinds the last 64', async () => {
  const many = Array.from({ length: 200 }, (_, index) => [index, index + 1]);
  const others = Array.from({ length: 63 }, (_, index) => learnedKind([[1, 2]], `other ${index}`));
  withFile(learnedKind(many), ...others);
  const times = timesAt();
  await times.learn(task(999));
  expect(kinds()).toHaveLength(64);
  expect(endedIn([kinds().at(-1)])[0]?.slice(-2)).toEqual([199, 999]);
  expect(kinds().at(-1).ended).toHaveLength(200);
  nowMs = 5_000;
  await times.learn(task(1, 'new'));
  expect(kinds()).toHaveLength(64);
  expect([kinds()[0].kind, kinds().at(-1).kind]).toEqual(['other 1', 'new']);
});

test('only the last 200 tasks say how long the next one takes, those that are not written yet among them', async () => {
  const slow = Array.from({ length: 200 }, () => [90_000, 95_000]);
  const quick = Array.from({ length: 100 }, () => [1_000, 1_010]);
  withFile(learnedKind(slow));
  const times = timesAt();
  for (const [afterMs = 0] of quick) await times.learn(task(afterMs));
  const others = timesAt();
  withFile(learnedKind([...slow.slice(100), ...quick]));
  await others.refresh();
  expect(times.usualTimesFor(REQUEST)).toEqual(others.usualTimesFor(REQUEST));
});

test.each([{ afterMs: 'soon' }, { byMs: Number.NaN }, { kind: 7 }, { afterMs: -1 }])(
  'what no job could have measured is not learned: %j',
  async (wrong) => {
    expect(await inActivity(() => timesAt().learn({ ...task(1), ...wrong } as never))).not.toContain(
      'learned',
    );
    expect(file).toBeUndefined();
  },
);

test.each(['{', '[]', '{"kinds":[{"kind":5}]}'])(
  'the damaged file %s counts as empty, with a warning',
  async (content) => {
    file = content;
    const times = timesAt();
    expect(await inActivity(() => times.refresh())).toContain('is damaged and counts as empty');
    expect(times.usualTimesFor(REQUEST)).toEqual({});
  },
);

test('a kind says what decides how long a task takes', () => {
  const kindFor = (more: object) => timesAt().kindFor({ ...REQUEST, ...more }).kind;
  expect(kindFor({})).toBe('text 720p 5s');
  expect(kindFor({ image_url: 'https://example.com/a.png', model: 'm1' })).toBe('image 720p 5s m1');
  expect(kindFor({ duration: undefined, resolution: undefined, model: 7 })).toBe('text');
  expect(kindFor({ model: 'm'.repeat(500) })).toHaveLength(120);
});

test('a long address is cut, so that the file stays readable', async () => {
  const times = timesAt(`https://${'x'.repeat(500)}/`);
  await times.learn(task(1));
  expect(kinds()[0].service).toHaveLength(200);
  expect(times.usualTimesFor(REQUEST)).toHaveProperty('usualTimes');
});

test('a request that cannot be read fails no submit', async () => {
  const broken = Object.defineProperty({ ...REQUEST }, 'resolution', {
    get: () => {
      throw new Error('no resolution');
    },
  });
  const log = await inActivity(async () => {
    expect(timesAt().kindFor(broken)).toEqual({});
  });
  expect(log).toContain('the learned times could not be used');
});
