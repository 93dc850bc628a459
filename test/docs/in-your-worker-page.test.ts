import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exports as entryPoints } from '../../package.json';
import { FALLBACK_FIELDS, JOB_FIELDS } from '../../src/contract/input-rules';
import { requestSchema } from '../../src/contract/request';
import { readPage, sectionOf } from '../support/docs-page';

const ROOT = join(__dirname, '../..');
const page = readPage('in-your-worker.md');

/** The names in the first cells of a section's tables, such as `polling` of `polling: { min, max }`. */
function namesInTables(heading: string): string[] {
  const rows = [...sectionOf(page, heading).matchAll(/^[|] (`.*?) [|]/gm)];
  return rows.flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w/-]+)[^`]*`/g)].map(([, name = '']) => name),
  );
}

/** The fields and methods of an interface, as its source declares them. */
function membersOf(file: string, name: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const [, body] = new RegExp(`^export interface ${name}\\b[^{]*\\{\n(.*?)^\\}`, 'ms').exec(source) ?? [];
  if (body === undefined) throw new Error(`${file} has no interface ${name}`);
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[?]?[:(]/gm)].map(([, member = '']) => member);
}

const CLIENT = 'src/client/video-client.ts';
const WORK = 'src/worker/video-work.ts';
const expected: Record<string, string[]> = {
  'With the plugin': [
    ...membersOf('src/worker/video-plugin.ts', 'VideoPluginOptions'),
    ...membersOf(WORK, 'VideoWorkOptions'),
    ...membersOf('activities/download/download-video.ts', 'DownloadOptions'),
  ],
  Client: [...membersOf(CLIENT, 'VideoClient'), ...membersOf('src/client/video-job.ts', 'VideoJob')],
  Request: Object.keys(requestSchema.shape),
  Input: ['request', ...Object.keys({ ...JOB_FIELDS, ...FALLBACK_FIELDS })],
  Result: membersOf('src/contract/job.ts', 'JobResult'),
  Progress: membersOf('src/contract/job.ts', 'JobProgress'),
  'Entry points': Object.entries(entryPoints)
    .filter(([, target]) => target.endsWith('.js'))
    .map(([path]) => path.replace('.', 'temporal-videogen')),
};

test.each(Object.entries(expected))(
  'the table %s of in-your-worker.md has every name, and no other',
  (heading, names) => {
    expect(names.length).toBeGreaterThan(3);
    expect([...namesInTables(heading)].sort()).toEqual([...names].sort());
  },
);

test('in-your-worker.md names every option of the client', () => {
  const section = sectionOf(page, 'Client');
  const options = membersOf(CLIENT, 'VideoClientOptions');
  expect(options.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});
