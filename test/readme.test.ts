import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ASPECT_RATIOS, MAX_DURATION_SECONDS, parseJobInput, RESOLUTIONS } from '../src/contract';
import { DIALECT_NAMES } from '../src/emulator';
import { BUILT_IN_PROFILES } from '../src/service';

const root = join(__dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));

const blocks = (language: string, text = readme) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code]) => code ?? '');

/** The package as its users import it, told from the sources. */
const PATHS = {
  'temporal-videogen': ['./src/index.ts'],
  'temporal-videogen/workflows': ['./workflows/index.ts'],
  'temporal-videogen/*': ['./src/*.ts'],
};

/** What the compiler says of each snippet. One program for all: most of the time goes into the packages' own types. */
function problemsOf(snippets: string[]): string[][] {
  const names = snippets.map((_, index) => join(root, `test/readme-snippet-${index}.ts`));
  const files = new Map(names.map((name, index) => [name, snippets[index] ?? '']));
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.getSourceFile = (name, ...rest) => {
    const code = files.get(name);
    return code === undefined
      ? getSourceFile(name, ...rest)
      : ts.createSourceFile(name, code, ts.ScriptTarget.ES2023);
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

test('every TypeScript snippet of the README and the pages in docs compiles against the package, and one with a mistake does not', () => {
  const snippets = blocks('ts');
  expect(snippets.length).toBeGreaterThan(3);
  const mistaken =
    snippets.find((code) => code.includes('job.taskId()'))?.replace('taskId()', 'taskID()') ?? '';
  const inPages = pages.flatMap((name) => blocks('ts', readFileSync(join(root, 'docs', name), 'utf8')));
  const problems = problemsOf([...snippets, ...inPages, mistaken]);
  expect(problems.slice(0, -1).flat()).toEqual([]);
  expect(problems.at(-1)?.join()).toContain("'taskID' does not exist");
});

test('every JSON snippet of the README is a job', () => {
  expect(blocks('json').map((text) => parseJobInput(JSON.parse(text)))).toEqual([
    expect.objectContaining({ ok: true }),
  ]);
});

test('the README tells the limits of the request as the schema has them', () => {
  const list = (values: readonly string[]) => `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
  expect(readme).toContain(`| ${list(RESOLUTIONS)}. |`);
  expect(readme).toContain(`| ${list(ASPECT_RATIOS)}. |`);
  expect(readme).toContain(`at most ${MAX_DURATION_SECONDS}. |`);
});

test('the README names every setting that the code reads, and no other of ours', () => {
  const names = (text: string) => new Set(text.match(/\b(VIDEO_API|VIDEOGEN)_[A-Z0-9_]+\b/g));
  const readers = [
    'src/config/service-config.ts',
    'src/config/temporal-config.ts',
    'src/config/storage-config.ts',
  ];
  const code = readers.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  expect([...names(readme)].sort()).toEqual([...names(code)].sort());
});

test('the README lists every dialect, and the built-in profile of each that has one', () => {
  const rows = [...readme.matchAll(/^\| [^|]+ \| `([a-z0-9-]+)` \| ([^|]*) \|$/gm)];
  const names = rows.map(([, name]) => name);
  expect(['default', ...names].sort()).toEqual([...DIALECT_NAMES].sort());
  const named = rows.filter(([, name, profile]) => profile?.includes(`\`${name}\``)).map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(BUILT_IN_PROFILES).sort());
});
