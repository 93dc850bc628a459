import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** The pages in a folder, as relative paths. */
export function pagesIn(folder: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (name.endsWith('.md')) return [name];
    return readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(name, file));
  });
}

/** The links in these pages to files or headings that do not exist in the folder. */
export function brokenLinks(folder: string, pages: readonly string[]): string[] {
  return pages.flatMap((page) =>
    linksOf(readFileSync(join(folder, page), 'utf8'))
      .filter((link) => !leadsSomewhere(folder, page, link))
      .map((link) => `${page} -> ${link}`),
  );
}

/** Links to files, not to other sites. Code is not searched. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, link]) => link ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

function leadsSomewhere(folder: string, page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? join(folder, page) : resolve(folder, dirname(page), path);
  if (relative(folder, file).startsWith('..') || !existsSync(file)) return false;
  return heading === undefined || headingsOf(readFileSync(file, 'utf8')).includes(heading);
}

/** Anchors as GitHub derives them from headings. */
function headingsOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
