import { atLength } from '../support/nightly';
import { fc } from '../support/properties';
import { REPLAY } from '../support/seed';
import { BREAKS } from './breaks';
import { CASES } from './cases';
import { changeOnce } from './change-once';
import { compare } from './compare-family';
import type { Played } from './family';
import { RenewedServer } from './renewed-server';
import { runShare } from './run-scripts';
import { bundlePlayed, silenceLogs } from './script-player';

/** `npm run model` plays more, in as many processes as there are cores. */
const SCRIPTS = atLength(40, 1_000);
/** For each script, on a machine with much else to do. */
const PATIENCE_MS = 1_000;
/** Once more on a new server, if need be. */
const GROUP_TIMEOUT_MS = 300_000;

let code: string;
let server: RenewedServer;
beforeAll(async () => {
  silenceLogs();
  code = await bundlePlayed();
  server = await RenewedServer.open(code);
}, GROUP_TIMEOUT_MS);
afterAll(() => server?.close());

test(
  `jobs, batches and fallbacks do what the model allows, whatever happens to them (${REPLAY})`,
  async () => {
    const { seed = 0 } = fc.readConfigureGlobal();
    const { failure, ...counts } = await runShare(server, { seed, from: 0, scripts: SCRIPTS });
    expect(failure).toBeUndefined();
    expect(counts.played).toBe(SCRIPTS);
    // Otherwise nothing was carried over.
    expect(counts.runs).toBeGreaterThan(counts.jobs * 1.5);
  },
  GROUP_TIMEOUT_MS + SCRIPTS * PATIENCE_MS,
);

describe('the model allows what happens', () => {
  let played: Played[];
  beforeAll(async () => {
    played = await server.on((player) => player.play(CASES.map(({ script }) => script)));
  }, GROUP_TIMEOUT_MS);

  test.each(CASES.map(({ name }, index) => ({ name, index })))('when $name', ({ index }) => {
    expect(played.slice(index, index + 1).map(compare)).toEqual([[]]);
  });
});

test.each(Object.entries(BREAKS).filter(([, change]) => !('file' in change)))(
  'the break %s has its place in the workflows',
  (_, { from, to }) => {
    expect(changeOnce(code, from, to)).not.toBe(code);
  },
);
