import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** A command in a `console` block of a page, and the output shown below it. */
export interface ShownCommand {
  command: string;
  output: string[];
}

export function readPage(name: string): string {
  return readFileSync(join(ROOT, 'docs', name), 'utf8');
}

export function readReadme(): string {
  return readFileSync(join(ROOT, 'README.md'), 'utf8');
}

/** The page for coding agents that use the package. */
export function readSkill(): string {
  return readFileSync(join(ROOT, 'SKILL.md'), 'utf8');
}

/** The pages in docs, without the index and the decisions. */
export function pageNames(): string[] {
  return readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/** The code blocks of one language, in order. */
export function blocksOf(text: string, language: string): string[] {
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, code]) => code ?? '');
}

/** The text from a heading to the next one. */
export function sectionOf(page: string, heading: string): string {
  const sections = page.split(/^##+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`The page has no heading "${heading}".`);
  return section;
}

/** The commands in the `console` blocks, in order. A backslash at the end of a line continues a command. */
export function commandsOf(text: string): ShownCommand[] {
  return blocksOf(text, 'console').flatMap((block) =>
    block
      .replaceAll(/\\\n\s*/g, '')
      .split(/^\$ /m)
      .slice(1)
      .map((shown) => {
        const [command = '', ...output] = shown.trimEnd().split('\n');
        return { command, output };
      }),
  );
}

/** The words of a command on a page, without the name of ours. Quotes hold words together. */
export function wordsOf(command: string): string[] {
  const words = command.replace(/^(npx )?videogen /, '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...words].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
}

/** Expects the output to contain the lines of the page in their order; `…` stands for anything. */
export function expectShown({ command, output }: ShownCommand, printed: string): void {
  const lines = output.map((line) =>
    line.trim().split('…').map(escaped).join('.*').replaceAll(/\s+/g, '\\s+'),
  );
  expect(`$ ${command}\n${printed}`).toMatch(new RegExp(['', ...lines, ''].join('(?:.|\\n)*')));
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
