import { withSignOfLife } from '../../src/temporal-server/sign-of-life';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('long work is announced with the time it takes, and says every 30 seconds that it goes on', async () => {
  const lines: string[] = [];
  const work = withSignOfLife(
    'Building',
    '5 to 10 minutes, once.',
    (line) => lines.push(line),
    () => new Promise((resolve) => setTimeout(resolve, 70_000)),
  );

  await jest.advanceTimersByTimeAsync(70_000);
  await work;

  expect(lines).toEqual([
    'Building: 5 to 10 minutes, once.',
    'Building: 30 s so far.',
    'Building: 60 s so far.',
  ]);
  expect(jest.getTimerCount()).toBe(0);
});
