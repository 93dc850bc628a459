import { withSignOfLife } from '../../src/temporal-server/sign-of-life';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('long work is announced with its expected time, and reported every 30 seconds', async () => {
  const lines: string[] = [];
  const work = withSignOfLife(
    'Building',
    '5 to 10 minutes, once.',
    { onProgress: (line) => lines.push(line) },
    () => new Promise((resolve) => setTimeout(resolve, 70_000)),
  );

  await jest.advanceTimersByTimeAsync(70_000);
  await work;

  const reported = ['Building: 5 to 10 minutes, once.', 'Building: 30 s so far.', 'Building: 60 s so far.'];
  expect(lines).toEqual(reported);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual(reported);
});

test('work with a percentage is reported more often', async () => {
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

test('on a terminal one line is redrawn, and removed at the end even if the work fails', async () => {
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
      throw new Error('disk full');
    },
  );
  const ended = expect(work).rejects.toThrow('disk full');

  await jest.advanceTimersByTimeAsync(500);
  await ended;

  expect(lines).toEqual(['Fetching: some seconds, once.']);
  expect(redrawn).toEqual(['Fetching: 0 s so far', 'Fetching: 50 % after 0 s', '']);
});
