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
    { onProgress: (line) => lines.push(line) },
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

test('work that knows how far it is says so more often', async () => {
  const lines: string[] = [];
  const work = withSignOfLife(
    'Fetching',
    'some seconds, once.',
    { onProgress: (line) => lines.push(line) },
    async (onPercent) => {
      onPercent(12.5);
      await new Promise((resolve) => setTimeout(resolve, 12_000));
    },
  );

  await jest.advanceTimersByTimeAsync(12_000);
  await work;

  expect(lines).toEqual([
    'Fetching: some seconds, once.',
    'Fetching: 13 % after 5 s.',
    'Fetching: 13 % after 10 s.',
  ]);
});

test('where a line can be redrawn, it is redrawn instead, and taken away at the end, also of work that fails', async () => {
  const lines: string[] = [];
  const redrawn: string[] = [];
  const work = withSignOfLife(
    'Fetching',
    'some seconds, once.',
    { onProgress: (line) => lines.push(line), onRedraw: (line) => redrawn.push(line) },
    async (onPercent) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      onPercent(50);
      await new Promise((resolve) => setTimeout(resolve, 200));
      throw new Error('no more');
    },
  );
  const ended = expect(work).rejects.toThrow('no more');

  await jest.advanceTimersByTimeAsync(500);
  await ended;

  expect(lines).toEqual(['Fetching: some seconds, once.']);
  expect(redrawn).toEqual(['Fetching: 0 s so far', 'Fetching: 50 % after 0 s', '']);
});
