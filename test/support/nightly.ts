/** The nightly run (`npm run test:nightly`) uses full lengths, the suite shorter ones that show the same. */
export function atLength<T>(inSuite: T, atNight: T): T {
  return process.env.VIDEOGEN_NIGHTLY ? atNight : inSuite;
}

/** Ends the name of what `npm test` skips; closing-lines.cjs counts it, and no other test may be skipped. */
const MARK = '(at night)';

type TestOfSuite = (name: string, run: () => Promise<void>, timeoutMs?: number) => void;
type Describe = (name: string, define: () => void) => void;

/** A test of the nightly run alone: it takes long, or needs a program besides Node, and shorter ones show a part of it. */
export const testAtNight = atLength<TestOfSuite>(
  (name, run) => test.skip(`${name} ${MARK}`, run),
  (name, run, timeoutMs) => test(name, run, timeoutMs),
);

export const describeAtNight = atLength<Describe>(
  (name, define) => describe.skip(`${name} ${MARK}`, define),
  (name, define) => describe(name, define),
);
