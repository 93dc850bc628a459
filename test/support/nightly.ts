/** The nightly run (`npm run test:nightly`) uses full lengths, the suite shorter ones that show the same. */
export function atLength<T>(inSuite: T, atNight: T): T {
  return process.env.VIDEOGEN_NIGHTLY ? atNight : inSuite;
}

type TestOfSuite = (name: string, run: () => Promise<void>, timeoutMs?: number) => void;

/** A test of the nightly run alone: it takes long, and shorter ones show a part of it. */
export const testAtNight = atLength<TestOfSuite>(
  () => undefined,
  (name, run, timeoutMs) => test(name, run, timeoutMs),
);
