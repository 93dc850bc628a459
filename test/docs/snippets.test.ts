import { join } from 'node:path';
import ts from 'typescript';
import { exports as entryPoints } from '../../package.json';
import { parseJobInput } from '../../src/contract';
import { blocksOf, pageNames, readPage, readReadme } from '../support/docs-page';

const root = join(__dirname, '../..');
const texts = [readReadme(), ...pageNames().map(readPage)];

/** The sources of the entry points. */
const PATHS = Object.fromEntries(
  Object.entries(entryPoints)
    .filter(([, target]) => target.endsWith('.js'))
    .map(([path, target]) => [
      path.replace('.', 'temporal-videogen'),
      [target.replace(/^[.][/]dist[/](.*)[.]js$/, './$1.ts')],
    ]),
);

/** The compiler's errors for each snippet. One program for all, because the types of the packages take most of the time. */
function problemsOf(snippets: string[]): string[][] {
  // Only an ES module has import.meta.
  const endOf = (code: string) => (code.includes('import.meta') ? 'mts' : 'ts');
  const names = snippets.map((code, index) => join(root, `test/docs-snippet-${index}.${endOf(code)}`));
  const files = new Map(names.map((name, index) => [name, snippets[index] ?? '']));
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.getSourceFile = (name, target, ...rest) => {
    const code = files.get(name);
    return code === undefined
      ? getSourceFile(name, target, ...rest)
      : ts.createSourceFile(name, code, target);
  };
  const program = ts.createProgram(
    names,
    { ...options, noEmit: true, noUnusedLocals: false, paths: PATHS },
    host,
  );
  return names.map((name) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(name))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  );
}

test('every TypeScript snippet of the README and the pages compiles, and one with a mistake does not', () => {
  const snippets = texts.flatMap((text) => blocksOf(text, 'ts'));
  expect(snippets.length).toBeGreaterThan(15);
  const mistaken =
    snippets.find((code) => code.includes('job.result()'))?.replace('result()', 'resulted()') ?? '';
  const problems = problemsOf([...snippets, mistaken]);
  expect(problems.slice(0, -1).flat()).toEqual([]);
  expect(problems.at(-1)?.join()).toContain("'resulted' does not exist");
});

test('every JSON snippet of the README and the pages is a valid job', () => {
  const jobs = texts.flatMap((text) => blocksOf(text, 'json')).map((text) => parseJobInput(JSON.parse(text)));
  expect(jobs.length).toBeGreaterThan(1);
  expect(jobs.filter(({ ok }) => !ok)).toEqual([]);
});
