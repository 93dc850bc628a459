import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { engines } from '../package.json';
import { runTool } from '../src/temporal-server/run-tool';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from './support/go-tool';

const ROOT = join(__dirname, '..');
const FILE = join(ROOT, '.github/workflows/ci.yml');
const text = readFileSync(FILE, 'utf8');

let actionlint: string;
beforeAll(async () => {
  actionlint = await buildGoTool({
    recipe: 'actionlint',
    module: 'github.com/rhysd/actionlint',
    program: 'github.com/rhysd/actionlint/cmd/actionlint',
  });
}, GO_TOOL_TIMEOUT_MS);

/** Without the linters of other languages, which not every machine has. */
const lint = (file: string) =>
  runTool(actionlint, ['-no-color', '-shellcheck=', '-pyflakes=', file], { cwd: ROOT, timeoutMs: 60_000 });

test('actionlint has nothing against the workflow, and something against one with a mistake', async () => {
  await lint(FILE);
  const folder = await mkdtemp(join(tmpdir(), 'videogen-ci-'));
  try {
    const mistaken = join(folder, 'ci.yml');
    await writeFile(mistaken, text.replace('matrix.node }}', 'matrix.nodes }}'));
    await expect(lint(mistaken)).rejects.toThrow('property "nodes" is not defined');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the workflow runs the README's test command on the oldest Node that we ask for, and on later ones", () => {
  const { test: job } = parse(text).jobs;
  expect(job.steps.at(-1)).toEqual({ run: 'npm ci && npm test' });
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain('`npm ci && npm test`');
  const [oldest, ...later] = job.strategy.matrix.node;
  expect(engines.node).toMatch(new RegExp(`^>=${oldest}\\.`));
  expect(later.length).toBeGreaterThan(0);
});
