import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { CASES } from './cases';
import { fuzz, fuzzUntil, withTarget } from './fuzz';
import { judge } from './judge';
import type { Target } from './target';
import { TARGETS } from './targets';

/** `npm run fuzz` sets these. */
const MINUTES = Number(process.env.VIDEOGEN_FUZZ_MINUTES || 0);
const ONLY = process.env.VIDEOGEN_FUZZ_TARGET;
const SEED = Number(process.env.VIDEOGEN_FUZZ_SEED || fc.readConfigureGlobal().seed);
const MINUTE_MS = 60_000;
/** For the suite, on a machine with much else to do. */
const PATIENCE_MS = 5 * MINUTE_MS;

const chosen = Object.entries(TARGETS).filter(([name]) => !ONLY || name === ONLY);
const msEach = (MINUTES * MINUTE_MS) / chosen.length;

test.each(chosen)(
  'whatever is fed to the %s, the outcome is clear, quick, small, in its folder and without secrets',
  async (name, target) => {
    const startedAtMs = processorMs();
    // Each target has a type of its own, which only it knows.
    const anyTarget = target as Target<unknown>;
    const report = await withTarget(anyTarget, (folder) =>
      MINUTES
        ? fuzzUntil(anyTarget, folder, { name, seed: SEED, untilMs: Date.now() + msEach })
        : fuzz(anyTarget, folder, { name, seed: SEED, runs: target.inSuite }),
    );
    const seconds = ((processorMs() - startedAtMs) / 1_000).toFixed(1);
    if (MINUTES)
      process.stderr.write(
        `${name}: ${report.runs} inputs, ${report.refused} refused, ${seconds} s of processor time\n`,
      );
    if (report.finding !== undefined) throw new Error(report.finding);
    if (target.takesEverything) return;
    // Otherwise the inputs are too tame, or too wild to get far.
    expect(report.refused).toBeGreaterThan(report.runs / 20);
    expect(report.runs - report.refused).toBeGreaterThan(report.runs / 20);
  },
  PATIENCE_MS + 2 * msEach,
);

test.each(CASES)('$target: $name', async ({ target, input }) => {
  const anyTarget = TARGETS[target] as Target<unknown>;
  const { problems } = await withTarget(anyTarget, (folder) => judge(anyTarget, input, folder));
  expect(problems).toEqual([]);
});
