import * as fc from 'fast-check';
import { collectGarbage } from '../support/collect-garbage';
import { processorMs } from '../support/processor-time';
import { SecondReader } from '../support/second-reader';
import { breakFile, brokenFile } from './broken-files';
import { lookAt } from './inspect';
import { FORMS, type Form, isForm, makeVideo } from './make-video';

/** `npm run fuzz:video` sets these: more files, and other ones each time. */
const FILES = Number(process.env.FILES ?? 300);
const SEED = Number(process.env.SEED ?? 14);
/** Of processor time, so that it means the same on a machine that has other things to do. */
const MOST_MS = 2_000;
/** Files of a hundred looks are a few megabytes that wait to be collected. */
const GARBAGE_EVERY = 100;
const MEBIBYTE = 1024 * 1024;
const MOST_GROWTH = 64 * MEBIBYTE;

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
  `${FILES} broken videos cost bounded time and memory, and none is taken for one without a picture in it`,
  async () => {
    const files = new Map<Form, Buffer>();
    for (const form of Object.keys(FORMS).filter(isForm)) files.set(form, await makeVideo(form, 32, 32));
    const tally: Tally = { accepted: 0, refused: 0, slowestMs: 0, growth: 0, findings: [] };
    const brokenFiles = fc.sample(brokenFile, { numRuns: FILES, seed: SEED });
    // What it takes to get going is not what a file takes.
    for (const file of files.values()) await lookAt(file);
    collectGarbage();
    const before = process.memoryUsage();
    for (const [index, broken] of brokenFiles.entries()) {
      if (index % GARBAGE_EVERY === 0) collectGarbage();
      const file = breakFile(files.get(broken.form) ?? Buffer.alloc(0), broken.changes);
      const begun = processorMs();
      const look = await lookAt(file);
      const ms = processorMs() - begun;
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      const { rss, external } = process.memoryUsage();
      tally.growth = Math.max(tally.growth, rss - before.rss, external - before.external);
      if (ms > MOST_MS) tally.findings.push(`${Math.round(ms)} ms: ${JSON.stringify(broken)}`);
      if (look.kind === 'no-video') {
        tally.refused++;
        continue;
      }
      tally.accepted++;
      const second = await secondReader.read(file);
      if (second !== 'picture') tally.findings.push(`${second}: ${JSON.stringify(broken)}`);
    }
    const { accepted, refused, slowestMs, growth, findings } = tally;
    process.stdout.write(
      `${FILES} broken videos (seed ${SEED}): ${accepted} accepted, ${refused} refused, slowest look ${Math.round(slowestMs)} ms of processor time, ` +
        `at most ${Math.round(growth / MEBIBYTE)} MiB more, ${findings.length} findings\n`,
    );
    expect(findings).toEqual([]);
    expect(growth).toBeLessThan(MOST_GROWTH);
    // Otherwise only one side of the question would have been asked.
    expect(Math.min(accepted, refused)).toBeGreaterThan(FILES / 20);
  },
  60_000 + FILES * 1_000,
);
