// Writes the tables of exported names into docs/reference.md, from the sources of the entry points: name, kind, and the first
// sentence of its doc comment. `npm run docs:exports` runs it; a test compares, which reads them with --print.
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const ts = require('typescript');
const { ENTRY_POINTS } = require('../api/entry-points.cjs');

const ROOT = join(__dirname, '..');
const PAGE = join(ROOT, 'docs/reference.md');
const START = '<!-- exports:start -->';
const END = '<!-- exports:end -->';

/** What each entry point exports, as `{ specifier, names: [{ name, kind, about, hasExample }] }`. */
function readExports() {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram(
    ENTRY_POINTS.map(({ source }) => source),
    { ...options, types: [] },
    ownSourcesOnly(options),
  );
  const checker = program.getTypeChecker();
  return ENTRY_POINTS.map(({ specifier, source }) => ({
    specifier,
    names: checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(source)))
      .map((symbol) => describe(symbol, checker))
      .sort((a, b) => a.name.localeCompare(b.name, 'en')),
  }));
}

/** Nothing that we export comes from another package, and reading their types would take most of the time. */
function ownSourcesOnly(options) {
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, file, _redirected, resolving) =>
    literals.map(({ text }) =>
      text.startsWith('.')
        ? ts.resolveModuleName(text, file, resolving, host)
        : { resolvedModule: undefined },
    );
  return host;
}

function describe(exported, checker) {
  const isAlias = exported.flags & ts.SymbolFlags.Alias;
  const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const hasExample = symbol.getJsDocTags(checker).some(({ name }) => name === 'example');
  return {
    name: exported.name,
    kind: kindOf(symbol, checker),
    about: firstSentence(comment),
    hasExample,
  };
}

const KINDS = [
  [ts.SymbolFlags.Class, 'class'],
  [ts.SymbolFlags.Function, 'function'],
  [ts.SymbolFlags.Variable, 'constant'],
  [ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias, 'type'],
];

function kindOf(symbol, checker) {
  const { flags, name } = symbol;
  const [, kind] = KINDS.find(([flag]) => flags & flag) ?? [];
  if (kind === 'constant' && checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0)
    return 'function';
  if (kind === undefined)
    throw new Error(`${name} is exported, but the reference has no kind for it: add it to KINDS.`);
  return kind;
}

function firstSentence(comment) {
  const text = comment.replace(/\s+/g, ' ').trim();
  return /^.*?[.!?](?= |$)/.exec(text)?.[0] ?? text;
}

/** The tables in Markdown. */
function exportTables(found) {
  return found.map(({ specifier, names }) => `### \`${specifier}\`\n\n${table(names)}`).join('\n\n');
}

function table(names) {
  const rows = names.map(
    ({ name, kind, about }) => `| \`${name}\` | ${kind} | ${about.replaceAll('|', '\\|')} |`,
  );
  return ['| Name | Kind | What it is |', '| --- | --- | --- |', ...rows].join('\n');
}

function writeTables() {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(START);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${PAGE} has no ${START} and ${END}: add them.`);
  writeFileSync(PAGE, `${before}${START}\n${exportTables(readExports())}\n${END}${after}`);
}

function printFound() {
  const found = readExports();
  process.stdout.write(JSON.stringify({ found, tables: exportTables(found) }));
}

if (process.argv.includes('--print')) printFound();
else writeTables();
