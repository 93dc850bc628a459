import { join } from 'node:path';
import { ChildProcesses } from '../support/child-processes';
import { blocksOf, readPage } from '../support/docs-page';
import { createHostProject } from '../support/host-project';

const FILES = ['jest.config.js', 'workflows.ts', 'trailer.test.ts'];

/** The files on a page. The first line of a block is the file's name. */
function filesOf(page: string): Record<string, string> {
  const blocks = ['js', 'ts'].flatMap((language) => blocksOf(page, language));
  return Object.fromEntries(blocks.map((code) => [code.match(/^\/\/ (\S+)\n/)?.[1] ?? '', code]));
}

test('the test of a host’s workflow on the page about testing passes unchanged', async () => {
  const files = filesOf(readPage('testing.md'));
  expect(Object.keys(files).sort()).toEqual([...FILES].sort());
  const host = createHostProject();
  const processes = new ChildProcesses();
  try {
    host.write(files);
    const { VIDEOGEN_TEST_SERVER } = process.env;
    const jest = processes.start([join(host.folder, 'node_modules/jest/bin/jest.js')], {
      cwd: host.folder,
      env: { VIDEOGEN_TEST_SERVER },
    });
    const code = await jest.ended;
    expect(jest.err()).toMatch(/^Tests: +1 passed, 1 total$/m);
    expect(code).toBe(0);
  } finally {
    await processes.killAll();
    host.remove();
  }
}, 180_000);
