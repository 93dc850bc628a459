import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.Node20,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
};

/** Compiles the programs of a folder in place; returns what the compiler says of them and of our declarations. */
export function compile(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const program = ts.createProgram(
    names.map((name) => join(folder, name)),
    { ...OPTIONS, typeRoots: [join(folder, '../node_modules/@types')] },
  );
  program.emit();
  // Other packages' declarations are not ours to mend: those of Temporal name a module `ms` whose types are not found.
  const ours = program.getSourceFiles().filter(({ fileName }) => isOurs(fileName, folder));
  const problems = ours.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  return [...program.getOptionsDiagnostics(), ...problems].map(
    ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
  );
}

const isOurs = (file: string, folder: string) =>
  file.startsWith(`${folder}/`) || /\/node_modules\/temporal-videogen\/(?!node_modules\/)/.test(file);
