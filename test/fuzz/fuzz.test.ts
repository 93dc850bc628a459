import { processorMs } from '../support/processor-time.cjs';
import { fc } from '../support/properties';
import { fuzz, withTarget } from './fuzz';
import { judge } from './judge';
import { SIGNATURE } from './secrets';
import type { Target } from './target';
import { type Case, TARGETS } from './targets';

/** `npm run fuzz` sets these. */
const MINUTES = Number(process.env.VIDEOGEN_FUZZ_MINUTES || 0);
const ONLY = process.env.VIDEOGEN_FUZZ_TARGET;
const SEED = Number(process.env.VIDEOGEN_FUZZ_SEED || fc.readConfigureGlobal().seed);
const MINUTE_MS = 60_000;
const RUNS_OF_A_ROUND = 300;
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
    const runs = MINUTES ? RUNS_OF_A_ROUND : target.inSuite;
    const report = await withTarget(anyTarget, (folder) =>
      fuzz(anyTarget, folder, { name, seed: SEED, runs, untilMs: Date.now() + msEach }),
    );
    const seconds = ((processorMs() - startedAtMs) / 1_000).toFixed(1);
    if (MINUTES)
      process.stderr.write(
        `${name}: ${report.runs} inputs, ${report.refused} refused, ${seconds} s of processor time\n`,
      );
    if (report.finding !== undefined) throw new Error(report.finding);
    // Otherwise the inputs are too tame, or too wild to get far.
    expect(report.refused).toBeGreaterThan(report.runs / 20);
    expect(report.runs - report.refused).toBeGreaterThan(report.runs / 20);
  },
  PATIENCE_MS + 2 * msEach,
);

/** What was found once. `npm run fuzz` prints a finding as a case to paste here. */
const CASES: Case[] = [
  {
    target: 'job inputs',
    name: 'a wrong value that is a signed link is quoted without its signature',
    input: { request: { aspect_ratio: `https://example.com/fox.png;sig=${SIGNATURE}` } },
  },
  {
    target: 'job inputs',
    name: 'a very long field is not compared letter by letter with the known ones',
    input: { request: { ['a'.repeat(130_000)]: 1 } },
  },
  {
    target: 'job inputs',
    name: 'an unknown field is named without its control characters',
    input: { '\u007f\u001bdeadline': 1, request: {} },
  },
  {
    target: 'profiles',
    name: 'the problem of a YAML file quotes it without control characters',
    input: '>\u001bname: fox\n',
  },
  {
    target: 'profiles',
    name: 'a file of many mistakes is read at once',
    input: `read:\n  taskId: ${'"'.repeat(19_000)}`,
  },
  {
    target: 'profiles',
    name: 'a file of brackets is refused before it is parsed',
    input: `name: ${'['.repeat(400_000)}`,
  },
  {
    target: 'profiles',
    name: 'the warnings of the YAML parser do not print lines of the file',
    input: '&\u001bname: fox\n',
  },
  {
    target: 'storage keys',
    name: 'a name with half a character is refused before it becomes a file name',
    input: {
      key: 'fox.mp4',
      template: 'fox.mp4',
      workflowId: '\udfff',
      taskId: 't-1',
      unchecked: false,
    },
  },
  {
    target: 'storage keys',
    name: 'a key that is refused is quoted without control characters',
    input: {
      key: '\u2028\u001bfoxes/',
      template: 'fox.mp4',
      workflowId: 'fox',
      taskId: 't-1',
      unchecked: true,
    },
  },
];

test.each(CASES)('$target: $name', async ({ target, input }) => {
  const anyTarget = TARGETS[target] as Target<unknown>;
  const { problems } = await withTarget(anyTarget, (folder) => judge(anyTarget, input, folder));
  expect(problems).toEqual([]);
});
