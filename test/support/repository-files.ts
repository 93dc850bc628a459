import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
/** Git ignores them or keeps its own files there. */
const NOT_OURS = ['.git', 'node_modules', 'dist', '.cache'];

/** The paths of all files of the repository with one of these names. */
export function filesNamed(names: readonly string[], folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.includes(entry.name) ? [] : filesNamed(names, path);
    return names.includes(entry.name) ? [path] : [];
  });
}
