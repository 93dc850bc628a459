/**
 * Compiles the programs in some folders of a project in place, and prints as JSON what the compiler says of them and of our
 * declarations. One run for all folders, each by its own package.json: most of the time goes into the packages' types.
 */
const { readdirSync } = require('node:fs');
const { join } = require('node:path');
const ts = require('typescript');

const OPTIONS = {
  module: ts.ModuleKind.Node20,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
};

const isDeclared = (file) => /\/node_modules\/temporal-videogen\/(?!node_modules\/)/.test(file);

const [host, ...folders] = process.argv.slice(2);
const programs = folders.flatMap((folder) =>
  readdirSync(join(host, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(host, folder, name)),
);
const program = ts.createProgram(programs, { ...OPTIONS, typeRoots: [join(host, 'node_modules/@types')] });
program.emit();
// Other packages' declarations are not ours to fix: those of Temporal name a module `ms` whose types are not found.
const ours = program
  .getSourceFiles()
  .filter(({ fileName }) => programs.includes(fileName) || isDeclared(fileName));
const problems = ours.flatMap((file) => [
  ...program.getSyntacticDiagnostics(file),
  ...program.getSemanticDiagnostics(file),
]);
const told = [...program.getOptionsDiagnostics(), ...problems].map(
  ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
);
process.stdout.write(JSON.stringify(told));
