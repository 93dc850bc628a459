import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { filesNamed } from './support/repository-files';

const ROOT = join(__dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, '.github', file), 'utf8');

/** The file that an ecosystem reads in each of its directories. */
const MANIFESTS: Record<string, string> = {
  npm: 'package.json',
  docker: 'Dockerfile',
  'docker-compose': 'docker-compose.yml',
  gomod: 'go.mod',
  maven: 'pom.xml',
  pip: 'requirements.txt',
};

interface Update {
  'package-ecosystem': string;
  directory?: string;
  directories?: string[];
}

const { updates }: { updates: Update[] } = parse(read('dependabot.yml'));
const watched = updates.flatMap(({ 'package-ecosystem': ecosystem, directory, directories }) =>
  (directories ?? [directory ?? '']).map((folder) => ({ ecosystem, folder: folder.replace(/^\//, '') })),
);

test.each(watched.filter(({ ecosystem }) => ecosystem !== 'github-actions'))(
  'Dependabot finds the manifest of $ecosystem in /$folder',
  ({ ecosystem, folder }) => {
    expect(existsSync(join(ROOT, folder, MANIFESTS[ecosystem] ?? 'an ecosystem without a manifest'))).toBe(
      true,
    );
  },
);

test('Dependabot watches every manifest of the repository, and the actions of every workflow', () => {
  const manifests = filesNamed(Object.values(MANIFESTS))
    // It stands in for a module and requires none.
    .filter((file) => file !== 'test/support/prometheus/no-kubernetes/go.mod');
  const found = watched
    .filter(({ ecosystem }) => ecosystem !== 'github-actions')
    .map(({ ecosystem, folder }) => join(folder, MANIFESTS[ecosystem] ?? ''));
  expect(found.sort()).toEqual(manifests.sort());
  const actions = watched.filter(({ ecosystem }) => ecosystem === 'github-actions');
  const own = readdirSync(join(ROOT, '.github/actions')).map((name) => `.github/actions/${name}`);
  expect(actions.map(({ folder }) => folder)).toEqual(['', ...own]);
});

test('Dependabot updates each tool in a go.mod', () => {
  const { allow } = parse(read('dependabot.yml')).updates.find(
    (update: Update) => update['package-ecosystem'] === 'gomod',
  );
  const allowed: string[] = allow.map((rule: { 'dependency-name': string }) => rule['dependency-name']);
  for (const { folder } of watched.filter(({ ecosystem }) => ecosystem === 'gomod')) {
    const pins = readFileSync(join(ROOT, folder, 'go.mod'), 'utf8');
    const [, tool] = /^tool (\S+)$/m.exec(pins) ?? [];
    // A program of ours is no tool of a module.
    const isUpdated = (name: string) =>
      (tool && `${tool}/`.startsWith(`${name}/`)) ?? pins.includes(`\t${name} v`);
    expect(allowed.filter(isUpdated)).toHaveLength(1);
  }
});

const forms = readdirSync(join(ROOT, '.github/ISSUE_TEMPLATE')).filter((name) => name !== 'config.yml');

test.each(forms)('the issue form %s has what GitHub requires', (name) => {
  const form = parse(read(`ISSUE_TEMPLATE/${name}`));
  expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
  const fields = form.body.filter(({ type }: { type: string }) => type !== 'markdown');
  expect(fields.length).toBeGreaterThan(0);
  const ids = fields.map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const field of fields) {
    expect(['input', 'textarea', 'dropdown', 'checkboxes']).toContain(field.type);
    expect(field.id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(field.attributes.label).toEqual(expect.any(String));
  }
});

test('CODEOWNERS has only comments and lines that name a path and its owners', () => {
  const lines = read('CODEOWNERS').trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^(#.*|)$|^\S+( @[\w/-]+)+$/);
});
