import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chosenSections, measure } from '../../bench/run.cjs';
import { drawReport, pageOf, replacePart } from '../../bench/support/page.cjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-bench-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A script that writes a part of a section to the file after `--json`. */
function writeScript(file: string, part: object): void {
  const code = `require('node:fs').writeFileSync(process.argv[3], JSON.stringify({ ...${JSON.stringify(part)}, notes: [process.argv[4] ?? 'full'] }));`;
  writeFileSync(join(folder, file), code);
}

const row = (name: string, polls: number) => ({ name, values: { polls } });
const QUIET = { print: () => undefined, onProgress: () => undefined };

test('the rows of a section are those of its scripts, as ratios to the row that the first one names', async () => {
  const ratioTo = { row: 'bare', value: 'polls' };
  writeScript('one.cjs', { title: 'Polls', ratioOf: 'polls', ratioTo, rows: [row('bare', 4)] });
  writeScript('two.cjs', { rows: [row('ours', 2)], versions: { Redis: '7' } });
  const scripts = ['one.cjs', 'two.cjs'].map((file) => ({ file, limitSeconds: 60 }));
  const { sections, skipped, versions } = await measure([{ section: 'x', scripts }], {
    scriptFolder: folder,
    ...QUIET,
  });
  expect(sections).toMatchObject([
    { section: 'x', title: 'Polls', notes: ['full', 'full'], rows: [{ ratio: 1 }, { ratio: 0.5 }] },
  ]);
  expect(skipped).toEqual([]);
  expect(versions).toMatchObject({ Node: process.versions.node, Redis: '7' });
});

test('a script that is absent, fails or takes too long is skipped with a sentence, and the others are measured', async () => {
  writeScript('good.cjs', { title: 'Good', rows: [row('ours', 1)] });
  writeFileSync(join(folder, 'bad.cjs'), "throw new Error('no server');");
  writeFileSync(join(folder, 'slow.cjs'), 'setInterval(() => undefined, 1_000);');
  const sections = ['absent.cjs', 'bad.cjs', 'slow.cjs', 'good.cjs'].map((file) => ({
    section: file[0] ?? '',
    scripts: [{ file, limitSeconds: file === 'slow.cjs' ? 1 : 60, quick: { args: ['--quick'] } }],
  }));
  const report = await measure(sections, { scriptFolder: folder, isQuick: true, ...QUIET });
  expect(report.sections).toMatchObject([{ title: 'Good', notes: ['--quick'] }]);
  expect(report.skipped.map(({ section, why }) => `${section}: ${why}`)).toEqual([
    'a: bench/absent.cjs is not there.',
    expect.stringMatching(/^b: bench\/bad\.cjs failed: it ended with code 1: .*no server/s),
    's: bench/slow.cjs failed: it took longer than 1 s.',
  ]);
});

test('a section that only counts runs beside the one before it', async () => {
  const waits =
    "while (!require('node:fs').existsSync(__dirname + '/marked')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);";
  writeScript('waits.cjs', { title: 'Waits', rows: [row('ours', 1)] });
  writeFileSync(join(folder, 'waits.cjs'), waits + readFileSync(join(folder, 'waits.cjs'), 'utf8'));
  writeScript('marks.cjs', { title: 'Marks', rows: [row('ours', 1)] });
  const mark = "require('node:fs').writeFileSync(__dirname + '/marked', '');";
  writeFileSync(join(folder, 'marks.cjs'), mark + readFileSync(join(folder, 'marks.cjs'), 'utf8'));
  const script = (file: string) => [{ file, limitSeconds: 30 }];
  const { sections } = await measure(
    [
      { section: 'w', scripts: script('waits.cjs') },
      { section: 'm', scripts: script('marks.cjs'), runsBeside: true },
    ],
    { scriptFolder: folder, ...QUIET },
  );
  expect(sections.map(({ title }) => title)).toEqual(['Waits', 'Marks']);
});

test('--only chooses sections by their letters and refuses one that does not exist', () => {
  expect(chosenSections('d,a').map(({ section }) => section)).toEqual(['a', 'd']);
  expect(chosenSections().map(({ section }) => section)).toEqual([...'abcdefgh']);
  expect(() => chosenSections('a,z')).toThrow('There is no section "z"');
});

test('the tables and the picture show each value with its unit and each ratio', async () => {
  const values = {
    polls: 9.14,
    lagSeconds: 2.71,
    busyShare: 0.987,
    jobsPerSecond: 1234,
    historyBytes: 15_300,
  };
  writeScript('a.cjs', {
    title: 'Polls <and> lag',
    ratioOf: 'cost to the optimum',
    better: 'less',
    rows: [{ name: 'ours | learned', ours: true, values, ratio: 1.25 }],
  });
  let printed = '';
  const report = await measure([{ section: 'a', scripts: [{ file: 'a.cjs', limitSeconds: 60 }] }], {
    ...QUIET,
    scriptFolder: folder,
    print: (text) => {
      printed += text;
    },
  });
  expect(printed).toMatch(/polls +lag +busy +jobs +history +ratio/);
  expect(printed).toMatch(/ours \| learned +9.14 +2.71 s +98.7 % +1,234\/s +15.3 KB +1.25x/);
  expect(pageOf(report)).toContain(
    '| ours \\| learned | 9.14 | 2.71 s | 98.7 % | 1,234/s | 15.3 KB | 1.25x |',
  );
  expect(drawReport(report)).toContain('(a) Polls &lt;and&gt; lag');
  expect(drawReport(report)).toMatch(/>1\.25x<.*\n.*>9\.14 polls, 2\.71 s</);
});

test('the page gets the tables between its marks, and is refused without them', () => {
  const page = 'Before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nAfter\n';
  expect(replacePart(page, 'new')).toBe('Before\n<!-- bench:start -->\n\nnew\n\n<!-- bench:end -->\nAfter\n');
  expect(() => replacePart('no marks', 'new')).toThrow('<!-- bench:start -->');
});

test('the peers of the bench are no part of the package, and their lock files name no registry', () => {
  const root = join(__dirname, '../..');
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(files.filter((file: string) => file.startsWith('bench'))).toEqual([]);
  for (const peer of ['bullmq', 'dbos', 'restate']) {
    const lock = readFileSync(join(root, 'bench/peers', peer, 'package-lock.json'), 'utf8');
    expect(lock).not.toContain('"resolved"');
  }
});
