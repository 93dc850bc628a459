import { watchProgress } from '../../src/cli/watch-progress';
import type { FollowOptions } from '../../src/client/workflow-handle';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Each call of `follow` gets the next of these. */
function watchedWith(...followings: (() => AsyncIterable<number>)[]) {
  const options: FollowOptions[] = [];
  const follow = (given: FollowOptions = {}) => {
    options.push(given);
    return followings[Math.min(options.length, followings.length) - 1]?.() ?? reports();
  };
  return { workflowId: 'fox', follow, options };
}

async function* reports(...numbers: number[]) {
  yield* numbers;
}
async function* broken(...numbers: number[]): AsyncGenerator<number> {
  yield* numbers;
  throw new Error('Temporal is unreachable');
}

test('each change is passed on, and a job that ended is not followed again', async () => {
  const watched = watchedWith(() => reports(1, 2, 3));
  const received: number[] = [];
  watchProgress(watched, (progress) => received.push(progress));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(received).toEqual([1, 2, 3]);
  expect(watched.options).toHaveLength(1);
});

test('Temporal is queried again after it was unreachable', async () => {
  const watched = watchedWith(
    () => broken(1),
    () => broken(),
    () => reports(2),
  );
  const received: number[] = [];
  watchProgress(watched, (progress) => received.push(progress));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(received).toEqual([1, 2]);
});

test('after `stop` nothing is passed on, and nothing is queried', async () => {
  let answer = (_progress: number) => {};
  const late = async function* () {
    yield await new Promise<number>((resolve) => {
      answer = resolve;
    });
  };
  const watched = watchedWith(late);
  const received: number[] = [];
  const watching = watchProgress(watched, (progress) => received.push(progress));
  watching.stop();
  answer(1);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(received).toEqual([]);
  expect(watched.options).toMatchObject([{ everyMs: 500, signal: { aborted: true } }]);
});

test('an unreachable Temporal is queried until `stop`, and not after it', async () => {
  const watched = watchedWith(() => broken());
  const watching = watchProgress(watched, () => undefined);
  await jest.advanceTimersByTimeAsync(5_000);
  const calls = watched.options.length;
  expect(calls).toBeGreaterThan(5);
  watching.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(watched.options).toHaveLength(calls);
});
