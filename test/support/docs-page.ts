import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** A command that a page shows in a `console` block, and the lines under it. */
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

/** The pages in docs, without the index and the decisions. */
export function pageNames(): string[] {
  return readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/** The code blocks of one language, in order. */
export function blocksOf(text: string, language: string): string[] {
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, code]) => code ?? '');
}

/** What stands under a heading below the page's title, up to the next. */
export function sectionOf(page: string, heading: string): string {
  const sections = page.split(/^##+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`The page has no heading "${heading}".`);
  return section;
}

/** The commands of a text's `console` blocks, in order; a backslash at the end of a line continues a command. */
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

/** Holds what a command printed to what the page shows of it: its lines in order, where `…` stands for anything. */
export function expectShown({ command, output }: ShownCommand, printed: string): void {
  const lines = output.map((line) =>
    line.trim().split('…').map(escaped).join('.*').replaceAll(/\s+/g, '\\s+'),
  );
  expect(`$ ${command}\n${printed}`).toMatch(new RegExp(['', ...lines, ''].join('(?:.|\\n)*')));
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
