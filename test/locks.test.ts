import { spawnSync } from 'node:child_process';
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

/** None of them asks anything of whoever uses the package; MPL-2.0 only of whoever changes that package's own files. */
const LICENCES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MPL-2.0',
];

interface Component {
  name: string;
  version: string;
  licenses?: { license: { id?: string; name?: string } }[];
  hashes?: unknown[];
}

test('the bill of materials lists what the package brings, each with a hash and a licence that asks nothing', () => {
  const printed = spawnSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, encoding: 'utf8', shell: true });
  const { components }: { components: Component[] } = JSON.parse(printed.stdout);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  const wanted = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  expect(listed).toEqual(expect.arrayContaining(wanted));
  expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([]);
  const licences = components.flatMap(({ name, licenses = [{ license: {} }] }) =>
    licenses.map(({ license }) => ({ name, licence: license.id ?? license.name })),
  );
  expect(licences.filter(({ licence = '' }) => !LICENCES.includes(licence))).toEqual([]);
});
