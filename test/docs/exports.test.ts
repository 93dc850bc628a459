import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface EntryPoint {
  specifier: string;
  reportFile: string;
}

const { ENTRY_POINTS, namesInReport }: { ENTRY_POINTS: EntryPoint[]; namesInReport(text: string): string[] } =
  require('../../api/entry-points.cjs');

const ROOT = join(__dirname, '../..');
const REPORTS = ENTRY_POINTS.map(({ reportFile }) => readFileSync(join(ROOT, 'api', reportFile), 'utf8'));
const NAMES = REPORTS.flatMap(namesInReport);

const sourcesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, folder, file), 'utf8'));

test('every exported name has a doc comment', () => {
  expect(REPORTS.flatMap((report) => report.match(/@public \(undocumented\)\n.*/g) ?? [])).toEqual([]);
});

test('every exported function has an example', () => {
  const sources = ['src', 'workflows', 'activities'].flatMap(sourcesIn);
  const functions = REPORTS.flatMap((report) => [...report.matchAll(/^export function (\w+)/gm)]);
  expect(functions.length).toBeGreaterThan(15);
  const hasExample = (name: string) => {
    const declared = new RegExp(`((?:^ [*].*\n)+) [*]/\nexport (?:async )?function ${name}\\b`, 'm');
    return sources.some((source) => declared.exec(source)?.[1]?.includes('@example'));
  };
  expect(functions.map(([, name = '']) => name).filter((name) => !hasExample(name))).toEqual([]);
});

test('each name has one entry point, and internal helpers have none', () => {
  expect(NAMES.filter((name, index) => NAMES.indexOf(name) !== index)).toEqual([]);
  expect(NAMES.filter((name) => /^(Carried|describe|printable|clean|in[A-Z])/.test(name))).toEqual([]);
  expect(NAMES).toEqual(expect.arrayContaining(['createVideoClient', 'VideoPlugin', 'VideoFailure']));
});
