/**
 * Compiles the programs in these folders of a project in place, and prints the errors in them and in our declarations as
 * JSON. One run for all folders, because the types of the packages take most of the time.
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

const isOurDeclaration = (file) => /\/node_modules\/temporal-videogen\/(?!node_modules\/)/.test(file);

const [host, ...folders] = process.argv.slice(2);
const programs = folders.flatMap((folder) =>
  readdirSync(join(host, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(host, folder, name)),
);
const program = ts.createProgram(programs, { ...OPTIONS, typeRoots: [join(host, 'node_modules/@types')] });
program.emit();
// We cannot fix declarations of other packages: Temporal's import a module `ms` without types.
const ours = program
  .getSourceFiles()
  .filter(({ fileName }) => programs.includes(fileName) || isOurDeclaration(fileName));
const problems = ours.flatMap((file) => [
  ...program.getSyntacticDiagnostics(file),
  ...program.getSemanticDiagnostics(file),
]);
const messages = [...program.getOptionsDiagnostics(), ...problems].map(
  ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
);
process.stdout.write(JSON.stringify(messages));
