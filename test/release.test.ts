import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripts, version } from '../package.json';

const ROOT = join(__dirname, '..');
const SCRIPT = 'scripts/check-release.cjs';

const PUBLISHABLE = {
  name: 'some-package',
  version: '1.2.3',
  repository: { type: 'git', url: 'git+https://github.com/foxes/videos.git' },
  bugs: { url: 'https://github.com/foxes/videos/issues' },
  homepage: 'https://github.com/foxes/videos#readme',
};

interface Given {
  manifest?: Record<string, unknown>;
  changelog?: string;
  codeOwners?: string;
  compose?: string;
  tag?: string;
}

/** The exit code and the output of the check for a package. */
function check({
  manifest = {},
  changelog = '# Changelog\n\n## 1.2.3\n',
  codeOwners,
  compose = '',
  tag,
}: Given) {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-release-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...PUBLISHABLE, ...manifest }));
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    mkdirSync(join(folder, '.github'));
    writeFileSync(join(folder, '.github/CODEOWNERS'), codeOwners ?? '* @fox\n');
    writeFileSync(join(folder, 'docker-compose.yml'), compose);
    const { GITHUB_REF_NAME, GITHUB_REF_TYPE, ...env } = process.env;
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, SCRIPT)], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...env, ...(tag !== undefined && { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: tag }) },
    });
    return { status, lines: stderr.trimEnd().split('\n').filter(Boolean) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('npm publish runs the check first', () => {
  expect(scripts.prepublishOnly).toBe(`node ${SCRIPT}`);
});

test('a package whose repository, version, tag and changelog agree is published without output', () => {
  const compose = `    image: postgres:16.15@sha256:${'0f'.repeat(32)}\n    image: temporal-videogen:local\n`;
  expect(check({ tag: 'v1.2.3', compose })).toEqual({ status: 0, lines: [] });
});

test.each<[string, Given, string]>([
  [
    'without a repository',
    { manifest: { repository: undefined, bugs: undefined, homepage: undefined } },
    'package.json names no repository',
  ],
  [
    'with a repository that provenance cannot compare',
    { manifest: { repository: { url: 'github:foxes/videos' } } },
    'write it as git+https://',
  ],
  [
    "with another repository's bugs",
    { manifest: { bugs: { url: 'https://example.com' } } },
    'npm pkg set bugs.url=https://github.com/foxes/videos/issues',
  ],
  [
    'without a homepage',
    { manifest: { homepage: undefined } },
    'npm pkg set homepage=https://github.com/foxes/videos#readme',
  ],
  [
    'with a tag of another version',
    { tag: 'v1.2.4' },
    'The tag is v1.2.4, but the version in package.json is 1.2.3',
  ],
  [
    'with changes that have no version yet',
    { changelog: '## Unreleased\n\n## 1.2.3\n' },
    'CHANGELOG.md starts with Unreleased',
  ],
  ['with an image by its tag alone', { compose: '    image: postgres:16.15\n' }, 'run npm run images:pin'],
])('a package %s is refused in one sentence that names the fix', (_what, given, sentence) => {
  const { status, lines } = check(given);
  expect(status).toBe(1);
  expect(lines).toEqual([expect.stringContaining(sentence)]);
});

test('code without owners is published with a reminder', () => {
  const { status, lines } = check({ codeOwners: '# * @OWNER\n' });
  expect(status).toBe(0);
  expect(lines).toEqual([expect.stringContaining('Reminder: .github/CODEOWNERS lists no owner')]);
});

test("the changelog's newest version is the package's", () => {
  const headings = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').match(/^## .*$/gm);
  expect(headings?.find((heading) => heading !== '## Unreleased')).toBe(`## ${version}`);
});
