import { ROOT, run, tool } from './run';

// Two tools, each of which compiles the whole package.
jest.setTimeout(3 * 60_000);

test('every entry point matches its reviewed API report; npm run api updates it', async () => {
  await run(process.execPath, ['api/report.cjs', '--check'], { cwd: ROOT });
});

test('every type that an entry point uses is exported and in the reference', async () => {
  // Types are checked elsewhere, and the pages are not used.
  await tool('typedoc', '--options', 'api/typedoc.cjs', '--emit', 'none', '--skipErrorChecking');
});
