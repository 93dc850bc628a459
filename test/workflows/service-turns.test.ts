import { ServiceTurns } from '../../workflows/service-turns';

const DAY_MS = 24 * 60 * 60_000;

const turnsOf = (services: string[]) => {
  const turns = ServiceTurns.of({ services }, undefined);
  if (turns === undefined) throw new Error('a job with services has turns');
  return turns;
};

test('a job that finds no worker waits a few dozen times at most, also with a deadline of a month', () => {
  const turns = turnsOf(['a', 'b', 'c']);
  let remainingMs = 30 * DAY_MS;
  let waits = 0;
  while (remainingMs > 0) {
    remainingMs -= turns.startWithinMs('a', remainingMs) ?? remainingMs;
    turns.waitLonger();
    waits += 1;
  }
  expect(waits).toBeLessThan(60);
});

test('the waits of one service do not lengthen those of the next', () => {
  const turns = turnsOf(['a', 'b', 'c']);
  const shortest = turns.startWithinMs('a', DAY_MS);
  turns.waitLonger();
  turns.recordRefused({ service: 'a', outcome: 'refused', failure: 'ServiceUnreachable', message: 'no' });
  expect(turns.startWithinMs('b', DAY_MS)).toBe(shortest);
});

test('a job that stays with its service has no next one, and the rest of the deadline', () => {
  const turns = turnsOf(['a', 'b']);
  turns.stay();
  expect([turns.nextAfter('a'), turns.turnMs('a', DAY_MS), turns.startWithinMs('a', DAY_MS)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
