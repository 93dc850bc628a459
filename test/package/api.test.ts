import { atLength } from '../support/nightly';
import { ROOT, run, tool } from './run';

// Each tool reads the types of the whole package.
jest.setTimeout(3 * 60_000);

test('every entry point matches its reviewed API report and exports the types it uses; npm run api updates it', async () => {
  await run(process.execPath, ['api/report.cjs', '--check'], { cwd: ROOT });
});

const referenceIsWhole = () =>
  test('the reference has every type that an entry point uses, and its links work', async () => {
    // Types are checked elsewhere, and the pages are not used.
    await tool('typedoc', '--options', 'api/typedoc.cjs', '--emit', 'none', '--skipErrorChecking');
  });
// The report holds the types in the suite.
atLength(() => undefined, referenceIsWhole)();
