import { TaskTimer } from '../../workflows/task-timer';

function timed(kind: string | undefined, ...polls: { plannedMs: number; atMs: number }[]): TaskTimer {
  const timer = new TaskTimer();
  timer.start(kind);
  for (const { plannedMs, atMs } of polls) {
    timer.planPoll(plannedMs);
    timer.recordPoll(atMs);
  }
  return timer;
}

test('a task ended between its last two polls, or between its submit and the only one', () => {
  const polls = [
    { plannedMs: 30_000, atMs: 30_100 },
    { plannedMs: 7_000, atMs: 37_300 },
    { plannedMs: 6_000, atMs: 43_500 },
  ];
  expect(timed('text', ...polls).ended).toEqual({ kind: 'text', afterMs: 37_300, byMs: 43_500 });
  expect(timed('text', ...polls.slice(0, 1)).ended).toEqual({ kind: 'text', afterMs: 0, byMs: 30_100 });
});

test('nothing is learned from a last poll that came much later than planned, as when no worker was running', () => {
  const late = { plannedMs: 7_000, atMs: 130_100 };
  expect(timed('text', { plannedMs: 30_000, atMs: 30_100 }, late).ended).toBeUndefined();
  // The next one is in time again.
  expect(timed('text', late, { plannedMs: 7_000, atMs: 138_000 }).ended).toMatchObject({ afterMs: 130_100 });
});

test('nothing is learned from a task that the submit did not make', () => {
  expect(timed(undefined, { plannedMs: 30_000, atMs: 30_100 }).ended).toBeUndefined();
});
