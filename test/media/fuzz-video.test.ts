import * as fc from 'fast-check';
import { collectGarbage } from '../support/collect-garbage';
import { processorMs } from '../support/processor-time.cjs';
import { SecondReader } from '../support/second-reader';
import { breakFile, brokenFile } from './broken-files';
import { inspect } from './inspect';
import { FORMS, type Form, isForm, makeVideo } from './make-video';

/** `npm run fuzz:video` sets these, for more files and different ones each time. */
const FILES = Number(process.env.FILES ?? 300);
const SEED = Number(process.env.SEED ?? 14);
/** Of processor time, so that a busy machine makes no difference. */
const MAX_MS = 2_000;
/** A hundred files are a few megabytes of garbage. */
const GARBAGE_EVERY = 100;
const MEBIBYTE = 1024 * 1024;
const MAX_GROWTH_BYTES = 64 * MEBIBYTE;

const secondReader = new SecondReader();
afterAll(() => secondReader.close());

interface Tally {
  accepted: number;
  refused: number;
  slowestMs: number;
  growth: number;
  findings: string[];
}

test(
  `${FILES} broken videos take bounded time and memory, and none without a picture is accepted`,
  async () => {
    const files = new Map<Form, Buffer>();
    for (const form of Object.keys(FORMS).filter(isForm)) files.set(form, await makeVideo(form, 32, 32));
    const tally: Tally = { accepted: 0, refused: 0, slowestMs: 0, growth: 0, findings: [] };
    const brokenFiles = fc.sample(brokenFile, { numRuns: FILES, seed: SEED });
    // Starting the process is not measured.
    for (const file of files.values()) await inspect(file);
    collectGarbage();
    const before = process.memoryUsage();
    for (const [index, broken] of brokenFiles.entries()) {
      if (index % GARBAGE_EVERY === 0) collectGarbage();
      const file = breakFile(files.get(broken.form) ?? Buffer.alloc(0), broken.changes);
      const startedAtMs = processorMs();
      const inspection = await inspect(file);
      const ms = processorMs() - startedAtMs;
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      const { rss, external } = process.memoryUsage();
      tally.growth = Math.max(tally.growth, rss - before.rss, external - before.external);
      if (ms > MAX_MS) tally.findings.push(`${Math.round(ms)} ms: ${JSON.stringify(broken)}`);
      if (inspection.kind === 'no-video') {
        tally.refused++;
        continue;
      }
      tally.accepted++;
      const second = await secondReader.read(file);
      if (second !== 'picture') tally.findings.push(`${second}: ${JSON.stringify(broken)}`);
    }
    const { accepted, refused, slowestMs, growth, findings } = tally;
    process.stdout.write(
      `${FILES} broken videos (seed ${SEED}): ${accepted} accepted, ${refused} refused, slowest inspection ${Math.round(slowestMs)} ms of processor time, ` +
        `at most ${Math.round(growth / MEBIBYTE)} MiB more, ${findings.length} findings\n`,
    );
    expect(findings).toEqual([]);
    expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
    // Both outcomes must be tested.
    expect(Math.min(accepted, refused)).toBeGreaterThan(FILES / 20);
  },
  60_000 + FILES * 1_000,
);
