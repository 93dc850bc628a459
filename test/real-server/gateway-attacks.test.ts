import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

test('a gateway that is attacked through its sockets keeps its memory, and no stream or file is left', async () => {
  const run = promisify(execFile)(process.execPath, [join(__dirname, '../doors/run.cjs'), '--short']);
  // What was printed says which attack it was.
  const printed = await run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `failed\n${stdout}${stderr}`,
  );
  expect(printed).not.toMatch(/^failed/);
}, 180_000);
