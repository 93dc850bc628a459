import { join } from 'node:path';
import { ROOT, runToEnd } from '../../package/run';

test("the AI SDK's own types of video models fit, and so do the models of all its packages here", async () => {
  const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
  const compiled = await runToEnd(process.execPath, [compiler, '-p', __dirname], { cwd: ROOT });
  expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
});
