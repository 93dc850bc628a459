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
  /** What programs import, such as `temporal-videogen/plugin`. */
  specifier: string;
  names: ExportedName[];
}

const script: { readExports(): EntryPoint[]; exportTables(found: EntryPoint[]): string } =
  require('../../scripts/make-exports.cjs');

const ROOT = join(__dirname, '../..');
const FOUND = script.readExports();
const EXPORTS = new Map(FOUND.map(({ specifier, names }) => [specifier, names]));
const ENTRIES = Object.entries(entryPoints)
  .filter(([, target]) => target.endsWith('.js'))
  .map(([path, target]) => [path.replace('.', 'temporal-videogen'), target] as const);

const namesOf = (specifier: string) => (EXPORTS.get(specifier) ?? []).map(({ name }) => name);

test('the reference describes every exported name; npm run docs:exports updates it', () => {
  const [, shown] =
    /<!-- exports:start -->\n(.*)\n<!-- exports:end -->/s.exec(readPage('reference.md')) ?? [];
  expect(shown).toBe(script.exportTables(FOUND));
});

test.each(ENTRIES)('the reference has every runtime export of %s', (specifier, target) => {
  const source = join(ROOT, target.replace(/^[.][/]dist[/](.*)[.]js$/, '$1'));
  const exported: object = require(source);
  expect(Object.keys(exported).filter((name) => !namesOf(specifier).includes(name))).toEqual([]);
  expect(Object.keys(exported).length).toBeGreaterThan(0);
});

test.each(ENTRIES)('the reference has every name in the API report of %s', (specifier) => {
  const [, path = 'index'] = specifier.split('/');
  const report = readFileSync(join(ROOT, `api/${path}.api.md`), 'utf8');
  const declared = report.matchAll(/^export (?:abstract )?(?:function|class|const|interface|type) (\w+)/gm);
  const listed = report.matchAll(/^export \{ (\w+) \}/gm);
  const names = new Set([...declared, ...listed].map(([, name]) => name ?? ''));
  expect(namesOf(specifier).sort()).toEqual([...names].sort());
});

test.each(ENTRIES)('every name of %s has a doc comment, and every function an example', (specifier) => {
  const names = EXPORTS.get(specifier) ?? [];
  expect(names.filter(({ about }) => !/^[A-Z`].*[.]$/.test(about)).map(({ name }) => name)).toEqual([]);
  expect(
    names.filter(({ kind, hasExample }) => kind === 'function' && !hasExample).map(({ name }) => name),
  ).toEqual([]);
});

test('internal helpers are not exported', () => {
  const all = [...EXPORTS.values()].flat().map(({ name }) => name);
  expect(all.filter((name) => /^(Carried|describe|printable|clean|in[A-Z])/.test(name))).toEqual([]);
  expect(all).toEqual(expect.arrayContaining(['createVideoClient', 'VideoPlugin', 'VideoFailure']));
});
