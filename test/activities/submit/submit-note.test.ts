import { readEarlierAttempts } from '../../../activities/submit/submit-note';
import { startAttempt } from '../activity-world';

const earlier = (heartbeatDetails: unknown, info = {}) =>
  startAttempt(readEarlierAttempts, undefined, { attempt: 2, heartbeatDetails, ...info }).result;
const lost = (attempt: number) => `attempt ${attempt} ended before its answer was known`;

test('a first attempt has nothing behind it', async () => {
  expect(await earlier(undefined, { attempt: 1 })).toEqual({
    lostSubmits: 0,
    triedForMs: 0,
    lostSubmit: undefined,
    keySent: false,
  });
});

test('an attempt knows all that the one before it noted', async () => {
  const note = {
    attemptWithoutTask: 1,
    sendWithoutTask: 'send-1',
    keySent: true,
    unsure: 'HTTP 500',
    triedForMs: 5_000,
    lostSubmits: 3,
    lostSubmit: 'lost before',
  };
  const { attemptWithoutTask: _, ...known } = note;
  expect(await earlier(note)).toEqual(known);
});

test('an attempt knows the task that the one before it noted', async () => {
  expect(await earlier({ taskId: 'task-1' })).toMatchObject({ taskId: 'task-1' });
});

test('of a note that somebody else wrote, only what has the right form counts', async () => {
  const wrong = {
    attemptWithoutTask: 1,
    sendWithoutTask: 1,
    taskId: 2,
    keySent: 'yes',
    unsure: 500,
    triedForMs: '5',
    lostSubmits: '3',
    lostSubmit: 4,
  };
  expect(await earlier(wrong)).toEqual({
    lostSubmits: 0,
    triedForMs: 0,
    lostSubmit: undefined,
    keySent: false,
  });
});

test.each<[string, object, number, string, number]>([
  ['that is new is counted', { sending: 1 }, 2, lost(1), 1],
  ['that is new is counted beside those before', { sending: 2, lostSubmits: 1 }, 3, lost(2), 2],
  [
    'that the note repeats is counted once',
    { attemptWithoutTask: 2, lostSubmit: lost(1), lostSubmits: 1 },
    3,
    lost(1),
    1,
  ],
  [
    'of a note from before they were counted is counted',
    { attemptWithoutTask: 2, lostSubmit: lost(1) },
    3,
    lost(1),
    1,
  ],
  [
    'after one that the note repeats is counted too',
    { attemptWithoutTask: 1, lostSubmit: 'x', lostSubmits: 1 },
    3,
    lost(2),
    2,
  ],
  ['whose note has no number is that of the attempt before', { sending: true }, 4, lost(3), 1],
])('a lost submit %s', async (_what, note, attempt, lostSubmit, lostSubmits) => {
  expect(await earlier(note, { attempt })).toMatchObject({ lostSubmit, lostSubmits, keySent: true });
});

describe('a first attempt', () => {
  const scheduled = { scheduledTimestampMs: 1_000 };

  test.each([999, 1_001])('that was scheduled again, at %d, may come after another one', async (at) => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: at };
    expect((await earlier(undefined, info)).lostSubmit).toContain('was reset or paused in Temporal');
  });

  test('that was scheduled once is the first', async () => {
    const info = { attempt: 1, ...scheduled, currentAttemptScheduledTimestampMs: 1_000 };
    expect((await earlier(undefined, info)).lostSubmit).toBeUndefined();
  });

  test('is the only one that may come after a reset: retries are scheduled later', async () => {
    const info = { ...scheduled, currentAttemptScheduledTimestampMs: 9_000 };
    expect((await earlier({ attemptWithoutTask: 1 }, info)).lostSubmit).toBeUndefined();
  });
});
