import { ROOT, run, tool } from './run';

// Two compilers, each with a program of the whole package.
jest.setTimeout(3 * 60_000);

test('the interface of every entry point is as its reviewed report has it; npm run api renews it', async () => {
  await run(process.execPath, ['api/report.cjs', '--check'], { cwd: ROOT });
});

test('whatever type an entry point names can be imported from one, and has its place in the reference', async () => {
  // Types were checked before, and nobody reads these pages.
  await tool('typedoc', '--options', 'api/typedoc.cjs', '--emit', 'none', '--skipErrorChecking');
});
