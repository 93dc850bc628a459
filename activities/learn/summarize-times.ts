import { SHARES, shareBegins, type UsualTimes } from '../../src/contract/usual-times';

/** When a task ended, in milliseconds since its submit: after a poll that found it unfinished, before the one that did not. */
export type Interval = readonly [afterMs: number, byMs: number];

/** What is expected counts as this many tasks before any has ended, and as ever fewer the more have. */
const EXPECTED_TASKS = 4;

/** The usual times, from tasks that have ended and from what is expected of them. Each may have ended anywhere between its polls. */
export function summarizeTimes(ended: readonly Interval[], expected: UsualTimes): UsualTimes {
  const expectedTasks = EXPECTED_TASKS ** 2 / (EXPECTED_TASKS + ended.length);
  const edges = [
    ...ended.flatMap((interval) => edgesOf(interval, 1)),
    ...expected.flatMap((time, share) =>
      edgesOf([time, expected[share + 1] ?? 2 * time], expectedTasks / SHARES),
    ),
  ].sort((one, other) => one.ms - other.ms);
  const tasks = ended.length + expectedTasks;
  const times: number[] = [];
  let endedTasks = 0;
  let tasksPerMs = 0;
  let sinceMs = 0;
  for (const { ms, change } of edges) {
    const endedByEdge = endedTasks + tasksPerMs * (ms - sinceMs);
    while (times.length < SHARES && shareBegins(times.length) * tasks <= endedByEdge) {
      const afterMs = (shareBegins(times.length) * tasks - endedTasks) / tasksPerMs;
      times.push(Math.round(Math.min(sinceMs + afterMs, ms)));
    }
    endedTasks = endedByEdge;
    tasksPerMs += change;
    sinceMs = ms;
  }
  return times;
}

/** Where tasks that end evenly between two times begin and stop to end: by how much that changes the tasks that end per ms. */
function edgesOf([afterMs, byMs]: Interval, tasks: number): { ms: number; change: number }[] {
  const lastMs = Math.max(byMs, afterMs + 1);
  const change = tasks / (lastMs - afterMs);
  return [
    { ms: afterMs, change },
    { ms: lastMs, change: -change },
  ];
}
