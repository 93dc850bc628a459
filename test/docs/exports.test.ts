import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exports as entryPoints } from '../../package.json';
import { readPage } from '../support/docs-page';

interface ExportedName {
  name: string;
  kind: string;
  /** The first sentence of its doc comment. */
  about: string;
  hasExample: boolean;
}

interface EntryPoint {
  /** What programs import, such as `temporal-videogen/worker`. */
  specifier: string;
  names: ExportedName[];
}

const { namesInReport }: { namesInReport(report: string): string[] } = require('../../api/entry-points.cjs');

const ROOT = join(__dirname, '../..');

/** In its own process, because the compiler takes twice as long inside jest. */
function printedBy(script: string): { found: EntryPoint[]; tables: string } {
  return JSON.parse(execFileSync(process.execPath, [join(ROOT, script), '--print'], { encoding: 'utf8' }));
}

const { found, tables } = printedBy('scripts/make-exports.cjs');
const EXPORTS = new Map(found.map(({ specifier, names }) => [specifier, names]));
const SPECIFIERS = Object.entries(entryPoints)
  .filter(([, target]) => target.endsWith('.js'))
  .map(([path]) => path.replace('.', 'temporal-videogen'));

const namesOf = (specifier: string) => (EXPORTS.get(specifier) ?? []).map(({ name }) => name);

test('the reference describes every exported name; npm run docs:exports updates it', () => {
  const [, shown] =
    /<!-- exports:start -->\n(.*)\n<!-- exports:end -->/s.exec(readPage('reference.md')) ?? [];
  expect(shown).toBe(tables);
});

test.each(SPECIFIERS)('the reference has every name in the API report of %s', (specifier) => {
  const [, path = 'index'] = specifier.split('/');
  const report = readFileSync(join(ROOT, `api/${path}.api.md`), 'utf8');
  expect(namesOf(specifier)).not.toEqual([]);
  expect(namesOf(specifier).sort()).toEqual(namesInReport(report).sort());
});

test.each(SPECIFIERS)('every name of %s has a doc comment, and every function an example', (specifier) => {
  const names = EXPORTS.get(specifier) ?? [];
  expect(names.filter(({ about }) => !/^[A-Z`].*[.]$/.test(about)).map(({ name }) => name)).toEqual([]);
  expect(
    names.filter(({ kind, hasExample }) => kind === 'function' && !hasExample).map(({ name }) => name),
  ).toEqual([]);
});

test('each name has one entry point, and internal helpers have none', () => {
  const all = [...EXPORTS.values()].flat().map(({ name }) => name);
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  expect(all.filter((name) => /^(Carried|describe|printable|clean|in[A-Z])/.test(name))).toEqual([]);
  expect(all).toEqual(expect.arrayContaining(['createVideoClient', 'VideoPlugin', 'VideoFailure']));
});
