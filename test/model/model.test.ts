import { atLength } from '../support/nightly';
import { fc } from '../support/properties';
import { REPLAY } from '../support/seed';
import { BREAKS, changeOnce } from './breaks';
import { CASES } from './cases';
import { checkScripts } from './check-scripts';
import { compare } from './compare';
import type { Observed } from './running-script';
import { bundleWorkflows, ScriptRunner, silenceLogs } from './script-runner';

/** `npm run model` runs more, in as many processes as there are cores. */
const SCRIPTS = atLength(8, 1_000);
/** For each script, on a machine with much else to do. */
const PATIENCE_MS = 1_000;
/** Once more on a new server, if need be. */
const GROUP_TIMEOUT_MS = 300_000;

let code: string;
let runner: ScriptRunner;
beforeAll(async () => {
  silenceLogs();
  code = await bundleWorkflows();
  runner = await ScriptRunner.open(code);
}, GROUP_TIMEOUT_MS);
afterAll(() => runner?.close());

test(
  `jobs, batches and fallbacks do what the model allows, whatever happens to them (${REPLAY})`,
  async () => {
    const { seed = 0 } = fc.readConfigureGlobal();
    const { failure, ...counts } = await checkScripts(runner, { seed, from: 0, scripts: SCRIPTS });
    expect(failure).toBeUndefined();
    expect(counts.scripts).toBe(SCRIPTS);
    // Otherwise nothing was carried over.
    expect(counts.runs).toBeGreaterThan(counts.jobs * 1.5);
  },
  GROUP_TIMEOUT_MS + SCRIPTS * PATIENCE_MS,
);

describe('the model allows what happens', () => {
  let observed: Observed[];
  beforeAll(async () => {
    observed = await runner.run(CASES.map(({ script }) => script));
  }, GROUP_TIMEOUT_MS);

  test.each(CASES.map(({ name }, index) => ({ name, index })))('when $name', ({ index }) => {
    expect(observed.slice(index, index + 1).map(compare)).toEqual([[]]);
  });
});

test.each(Object.entries(BREAKS).filter(([, change]) => !('file' in change)))(
  'the break %s has its place in the workflows',
  (_, { from, to }) => {
    expect(changeOnce(code, from, to)).not.toBe(code);
  },
);
