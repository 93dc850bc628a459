import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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

  /** Without linters for other languages, which not every machine has. */
  const lint = (file: string) =>
    runTool(actionlint, ['-no-color', '-shellcheck=', '-pyflakes=', file], { cwd: ROOT, timeoutMs: 60_000 });

  test.each(names)('accepts %s', async (name) => {
    await lint(join(WORKFLOWS, name));
  });

  test('refuses a workflow with a mistake', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'videogen-ci-'));
    try {
      const mistaken = join(folder, 'ci.yml');
      await writeFile(mistaken, text.replace('matrix.node }}', 'matrix.nodes }}'));
      await expect(lint(mistaken)).rejects.toThrow('property "nodes" is not defined');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test("the workflow runs the README's test command on the oldest supported Node and on later ones", () => {
  const { test: job } = parse(text).jobs;
  expect(job.steps.at(-1)).toEqual({ run: 'npm ci && npm test' });
  expect(read('README.md')).toContain('`npm ci && npm test`');
  const [oldest, ...later] = job.strategy.matrix.node;
  expect(engines.node).toMatch(new RegExp(`^>=${oldest}\\.`));
  expect(later.length).toBeGreaterThan(0);
});

test('.nvmrc is one of the versions that the tests run on, and releases and nightly runs use it', () => {
  const version = read('.nvmrc').trim();
  expect(parse(text).jobs.test.strategy.matrix.node).toContain(Number(version));
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
  allow?: { 'dependency-name': string }[];
}

const { updates }: { updates: Update[] } = parse(read('.github/dependabot.yml'));
const watched = updates.flatMap(({ 'package-ecosystem': ecosystem, directory, directories }) =>
  (directories ?? [directory ?? '']).map((folder) => ({ ecosystem, folder: folder.replace(/^\//, '') })),
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
  const { allow = [] } = updates.find((update) => update['package-ecosystem'] === 'gomod') ?? {};
  const allowed = allow.map((rule) => rule['dependency-name']);
  for (const { folder } of watched.filter(({ ecosystem }) => ecosystem === 'gomod')) {
    const pins = readFileSync(join(ROOT, folder, 'go.mod'), 'utf8');
    const [, tool] = /^tool (\S+)$/m.exec(pins) ?? [];
    // A program of ours is no tool of a module.
    const isUpdated = (name: string) =>
      (tool && `${tool}/`.startsWith(`${name}/`)) ?? pins.includes(`\t${name} v`);
    expect(allowed.filter(isUpdated)).toHaveLength(1);
  }
});
