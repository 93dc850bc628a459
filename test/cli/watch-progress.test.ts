import { watchProgress } from '../../src/cli/watch-progress';
import type { FollowOptions } from '../../src/client/workflow-handle';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Each following is one of these. */
function watchedWith(...followings: (() => AsyncIterable<number>)[]) {
  const options: FollowOptions[] = [];
  const follow = (given: FollowOptions = {}) => {
    options.push(given);
    return followings[Math.min(options.length, followings.length) - 1]?.() ?? told();
  };
  return { workflowId: 'fox', follow, options };
}

async function* told(...numbers: number[]) {
  yield* numbers;
}
async function* broken(...numbers: number[]): AsyncGenerator<number> {
  yield* numbers;
  throw new Error('Temporal is away');
}

test('each change is handed on, and one that has ended is not followed again', async () => {
  const watched = watchedWith(() => told(1, 2, 3));
  const seen: number[] = [];
  watchProgress(watched, (progress) => seen.push(progress));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual([1, 2, 3]);
  expect(watched.options).toHaveLength(1);
});

test('a Temporal that is away for a while is asked again', async () => {
  const watched = watchedWith(
    () => broken(1),
    () => broken(),
    () => told(2),
  );
  const seen: number[] = [];
  watchProgress(watched, (progress) => seen.push(progress));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual([1, 2]);
});

test('after the stop nothing is handed on, and nobody is asked', async () => {
  let answer = (_progress: number) => {};
  const late = async function* () {
    yield await new Promise<number>((resolve) => {
      answer = resolve;
    });
  };
  const watched = watchedWith(late);
  const seen: number[] = [];
  const watching = watchProgress(watched, (progress) => seen.push(progress));
  watching.stop();
  answer(1);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual([]);
  expect(watched.options).toMatchObject([{ everyMs: 500, signal: { aborted: true } }]);
});

test('away for good, Temporal is asked until the stop and not after it', async () => {
  const watched = watchedWith(() => broken());
  const watching = watchProgress(watched, () => undefined);
  await jest.advanceTimersByTimeAsync(5_000);
  const asked = watched.options.length;
  expect(asked).toBeGreaterThan(5);
  watching.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(watched.options).toHaveLength(asked);
});
