import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exports as entryPoints, name as packageName } from '../../package.json';

const API = join(__dirname, '../../api');
const ALL_OF_IT = `${packageName}/contract`;

/** What each entry point exports, by its API report, as the reference shows it. */
export function exportTable(): string {
  const paths = Object.entries(entryPoints).filter(([, target]) => target.endsWith('.js'));
  const names = new Map(paths.map(([path]) => [path.replace('.', packageName), namesIn(reportOf(path))]));
  const contract = names.get(ALL_OF_IT) ?? [];
  const rows = [...names].map(([specifier, all]) => {
    const hasAll = specifier !== ALL_OF_IT && contract.every((name) => all.includes(name));
    const own = hasAll ? all.filter((name) => !contract.includes(name)) : all;
    const list = own.map((name) => `\`${name}\``).join(', ');
    return `| \`${specifier}\` | ${hasAll ? `everything of \`${ALL_OF_IT}\`, and ` : ''}${list} |`;
  });
  return ['| Import | Names |', '| --- | --- |', ...rows].join('\n');
}

function reportOf(path: string): string {
  return `${path === '.' ? 'index' : path.slice('./'.length)}.api.md`;
}

function namesIn(reportFile: string): string[] {
  const report = readFileSync(join(API, reportFile), 'utf8');
  const declared = report.matchAll(
    /^export (?:abstract )?(?:function|class|const|interface|type|enum) (\w+)/gm,
  );
  const exported = report.matchAll(/^export \{ (\w+) \}/gm);
  return [...new Set([...declared, ...exported].map(([, name]) => name ?? ''))].sort((a, b) =>
    a.localeCompare(b, 'en'),
  );
}
