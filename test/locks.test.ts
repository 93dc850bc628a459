import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesNamed } from './support/repository-files';

const ROOT = join(__dirname, '..');
const LOCKS = filesNamed(['package-lock.json']);

interface Lock {
  packages: Record<string, { integrity?: string; link?: boolean }>;
}

/** Without an integrity, npm installs whatever the registry has under that version, on platforms that we do not try too. */
const unchecked = ({ packages }: Lock) =>
  Object.entries(packages)
    .filter(([path, { integrity = '', link }]) => path !== '' && !link && !integrity.startsWith('sha512-'))
    .map(([path]) => path);

test.each(LOCKS)('every package of %s has an integrity', (file) => {
  expect(unchecked(JSON.parse(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});

test('a package without an integrity is found', () => {
  const packages = { '': {}, 'node_modules/a': { integrity: 'sha512-x' }, 'node_modules/b': {} };
  expect(unchecked({ packages })).toEqual(['node_modules/b']);
});
