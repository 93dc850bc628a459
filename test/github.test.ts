import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { engines, scripts } from '../package.json';
import { runTool } from '../src/temporal-server/child-process';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from './support/go-tool';
import { describeAtNight } from './support/nightly';
import { filesNamed } from './support/repository-files';

const ROOT = join(__dirname, '..');
const WORKFLOWS = join(ROOT, '.github/workflows');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const text = read('.github/workflows/ci.yml');
const ACTION = '.github/actions/setup/action.yml';
const names = readdirSync(WORKFLOWS);

describeAtNight('actionlint', () => {
  let actionlint: string;
  beforeAll(async () => {
    actionlint = await buildGoTool({
      recipe: 'actionlint',
      module: 'github.com/rhysd/actionlint',
      program: 'github.com/rhysd/actionlint/cmd/actionlint',
    });
  }, GO_TOOL_TIMEOUT_MS);

  test.each(names)('accepts %s', async (name) => {
    // Without linters for other languages, which not every machine has.
    const args = ['-no-color', '-shellcheck=', '-pyflakes=', join(WORKFLOWS, name)];
    await runTool(actionlint, args, { cwd: ROOT, timeoutMs: 60_000 });
  });
});

test("the workflow runs the README's test command on the oldest supported Node and on that of releases", () => {
  const { test: job } = parse(text).jobs;
  expect(job.steps.at(-1)).toEqual({ run: 'npm ci && npm test' });
  expect(read('README.md')).toContain('`npm ci && npm test`');
  const [oldest, ...later] = job.strategy.matrix.node;
  expect(engines.node).toMatch(new RegExp(`^>=${oldest}\\.`));
  expect(later).toContain(Number(read('.nvmrc')));
  expect(read('.github/workflows/release.yml')).toContain('node-version-file: .nvmrc');
  expect(read(ACTION)).toContain('node-version-file: .nvmrc');
});

test('every action is pinned to a commit with its version in a comment, the same one everywhere', () => {
  const used = [...names.map((name) => `.github/workflows/${name}`), ACTION].flatMap(
    (file) => read(file).match(/\buses: .*/g) ?? [],
  );
  for (const uses of used)
    expect(uses).toMatch(/^uses: (\.\/\.github\/.*|actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
  const pins = new Set(used.filter((uses) => uses.includes('@')));
  expect(pins.size).toBeGreaterThan(0);
  expect(new Set([...pins].map((pin) => pin.split('@')[0])).size).toBe(pins.size);
});

test('no workflow may do more than read the contents, except to publish a release', () => {
  for (const name of names) {
    const { permissions, jobs } = parse(read(`.github/workflows/${name}`));
    const ofJobs = Object.values<{ permissions?: object }>(jobs).map((job) => job.permissions);
    const allowed = name === 'release.yml' ? { contents: 'read', 'id-token': 'write' } : { contents: 'read' };
    for (const some of [permissions, ...ofJobs].filter(Boolean)) expect(allowed).toMatchObject(some);
    expect([name, permissions]).not.toEqual([name, undefined]);
  }
});

test('a release is published with provenance, from a tag, after all tests, and not from a cache', () => {
  const { on, jobs } = parse(read('.github/workflows/release.yml'));
  expect(on).toEqual({ push: { tags: ['v*'] } });
  expect(jobs.test.uses).toBe('./.github/workflows/ci.yml');
  expect(parse(text).on).toHaveProperty('workflow_call');
  const { needs, permissions, steps } = jobs.publish;
  expect(needs).toBe('test');
  expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  expect(steps.at(-1).run).toBe('npm publish --provenance --access public');
  expect(JSON.stringify(steps)).not.toContain('cache');
});

test('the nightly workflow runs every script that takes too long for each change', () => {
  const { run } = parse(read('.github/workflows/nightly.yml')).jobs;
  expect(run.steps.at(-1).run).toMatch(/^npm run \$\{\{ matrix\.script \}\}$/);
  const long = Object.keys(scripts).filter((name) =>
    /^(bench(:|$)|fuzz$|schemathesis$|compose:try$)|:(nightly|variants)$/.test(name),
  );
  expect([...run.strategy.matrix.script].sort()).toEqual(long.sort());
});

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

test('Dependabot watches every manifest of the repository, and the actions of every workflow', () => {
  const { updates }: { updates: Update[] } = parse(read('.github/dependabot.yml'));
  const watched = updates.flatMap(({ 'package-ecosystem': ecosystem, directory = '', directories }) =>
    (directories ?? [directory]).map((folder) => join(folder, MANIFESTS[ecosystem] ?? ecosystem).slice(1)),
  );
  const manifests = filesNamed(Object.values(MANIFESTS))
    // It stands in for a module and requires none.
    .filter((file) => file !== 'test/support/prometheus/no-kubernetes/go.mod');
  const actions = [
    '',
    ...readdirSync(join(ROOT, '.github/actions')).map((name) => `.github/actions/${name}/`),
  ];
  expect(watched.sort()).toEqual(
    [...manifests, ...actions.map((folder) => `${folder}github-actions`)].sort(),
  );
});
