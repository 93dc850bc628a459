import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripts, version } from '../package.json';
import { describeAtNight, testAtNight } from './support/nightly';
import { chooseHistories } from './support/released-histories.cjs';
import { filesNamed } from './support/repository-files';

const ROOT = join(__dirname, '..');
const SCRIPT = 'scripts/check-release.cjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const PUBLISHABLE = {
  version: '1.2.3',
  repository: { url: 'git+https://github.com/foxes/videos.git' },
  bugs: { url: 'https://github.com/foxes/videos/issues' },
  homepage: 'https://github.com/foxes/videos#readme',
};
const DIGEST = `sha256:${'0f'.repeat(32)}`;

/** A package to publish: its files and its tag. */
const GOOD = {
  'package.json': JSON.stringify(PUBLISHABLE),
  'CHANGELOG.md': '# Changelog\n\n## [1.2.3] - 2026-11-19\n',
  '.github/CODEOWNERS': '* @fox\n',
  'docker-compose.yml': `    image: postgres:16.15@${DIGEST}\n    image: temporal-videogen:local\n`,
  tag: 'v1.2.3',
};

/** The exit code and the output of the check for a package. */
function check(given: Partial<typeof GOOD>) {
  const { tag, ...files } = { ...GOOD, ...given };
  mkdirSync(join(folder, '.github'));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const env = { ...process.env, GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: tag };
  const checked = spawnSync(process.execPath, [join(ROOT, SCRIPT)], { cwd: folder, encoding: 'utf8', env });
  return { status: checked.status, lines: checked.stderr.trimEnd().split('\n').filter(Boolean) };
}

test('the check before a release ends with what a person has to do, and npm publish runs it first', () => {
  expect(scripts['release:check']).toMatch(/ node scripts\/check-release.cjs --steps$/);
  expect(scripts.prepublishOnly).toBe(`node ${SCRIPT}`);
  const { stderr } = spawnSync(process.execPath, [SCRIPT, '--steps'], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toMatch(
    new RegExp(`git tag v${version} && git push origin v${version} .*\n.*npm view temporal-videogen .*\n$`),
  );
});

test('a package whose repository, version, tag and changelog agree is published, with a reminder of code without owners', () => {
  expect(check({ '.github/CODEOWNERS': '# * @OWNER\n' })).toEqual({
    status: 0,
    lines: [expect.stringContaining('Reminder: .github/CODEOWNERS lists no owner')],
  });
});

const { repository, ...elsewhere } = PUBLISHABLE;
test.each<[string, Partial<typeof GOOD>, string[]]>([
  [
    'without a repository, its changes without a version',
    {
      'package.json': JSON.stringify({ version: '1.2.3' }),
      'CHANGELOG.md': '## [Unreleased]\n\n## [1.2.3] - 2026-11-19\n',
    },
    ['package.json names no repository', 'CHANGELOG.md starts with Unreleased'],
  ],
  [
    'with a repository that provenance cannot compare',
    { 'package.json': JSON.stringify({ ...elsewhere, repository: { url: 'github:foxes/videos' } }) },
    ['write it as git+https://'],
  ],
  [
    'with the bugs of another repository, the tag of another version, a version without its day and an image by its tag alone',
    {
      'package.json': JSON.stringify({ ...PUBLISHABLE, bugs: { url: 'https://example.com' } }),
      tag: 'v1.2.4',
      'CHANGELOG.md': '## [1.2.3] - soon\n',
      'docker-compose.yml': '    image: postgres:16.15\n',
    },
    [
      'npm pkg set bugs.url=https://github.com/foxes/videos/issues',
      'start it with "## [1.2.3] - ", and the date.',
      'The tag is v1.2.4, but the version in package.json is 1.2.3',
      'run npm run images:pin',
    ],
  ],
])('a package %s is refused with a sentence for each that names the fix', (_what, given, sentences) => {
  const lines = sentences.map((sentence) => expect.stringContaining(sentence));
  expect(check(given)).toEqual({ status: 1, lines });
});

test("the changelog's newest version is the package's", () => {
  const headings = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').match(/^## .*$/gm);
  const newest = headings?.find((heading) => heading !== '## [Unreleased]');
  expect(newest).toMatch(/^## \[.*\] - \d{4}-\d{2}-\d{2}$/);
  expect(newest).toContain(`[${version}]`);
});

interface Lock {
  packages: Record<
    string,
    {
      version?: string;
      integrity?: string;
      license?: string;
      link?: boolean;
      dev?: boolean;
      devOptional?: boolean;
    }
  >;
}
const readLock = (file: string): Lock => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));

test('every package in a lock file has an integrity, without which npm installs whatever the registry has', () => {
  const files = filesNamed(['package-lock.json']);
  expect(files).toContain('package-lock.json');
  for (const file of files)
    for (const [path, { integrity, link }] of Object.entries(readLock(file).packages))
      if (path !== '' && !link) expect([file, path, integrity?.slice(0, 7)]).toEqual([file, path, 'sha512-']);
});

const brought = Object.entries(readLock('package-lock.json').packages).filter(
  ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional,
);

/** None of them asks anything of whoever uses the package; MPL-2.0 only of whoever changes that package's own files. */
const LICENCES = /^(0BSD|Apache-2[.]0|BSD-[23]-Clause|BlueOak-1[.]0[.]0|ISC|MIT|MPL-2[.]0)$/;

test('what the package brings has licences that ask nothing', () => {
  expect(brought.length).toBeGreaterThan(20);
  for (const [path, { license }] of brought)
    expect([path, license]).toEqual([path, expect.stringMatching(LICENCES)]);
});

testAtNight(
  'the bill of materials lists what the package brings, each with a hash and a licence',
  async () => {
    const printed = execFileSync(process.execPath, ['scripts/make-sbom.cjs'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const { components }: { components: { purl: string; hashes: object[]; licenses: object[] }[] } =
      JSON.parse(printed);
    const listed = components.map(({ purl }) => decodeURIComponent(purl));
    const purls = brought.map(
      ([path, { version }]) => `pkg:npm/${path.split('node_modules/').at(-1)}@${version}`,
    );
    expect(listed.sort()).toEqual([...new Set(purls)].sort());
    for (const component of components)
      expect([component.hashes.length, component.licenses.length]).toEqual([1, 1]);
  },
);

// Needs git.
describeAtNight('a recorded history', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=fox', '-c', 'user.email=fox@example.com', ...args], {
      cwd: folder,
    });

  /** Commits a history. */
  function commitHistory(name: string): void {
    writeFileSync(join(folder, `${name}.json`), '{}');
    git('add', '.');
    git('commit', '--quiet', '--message', name);
  }

  test('that was released is not recorded again, any other may be; without names those are that do not exist', () => {
    const stories = ['well', 'held', 'slow'];
    const choose = (...names: string[]) => chooseHistories(folder, stories, names);
    git('init', '--quiet');
    commitHistory('well');
    git('tag', 'v0.1.0');
    commitHistory('held');
    expect([choose('held'), choose()]).toEqual([{ chosen: ['held'] }, { chosen: ['slow'] }]);
    git('tag', 'v0.2.0');
    expect(choose('well', 'held').problem).toMatch(
      /^well\.json was released with v0\.1\.0, .* so it is not recorded again\. Put the change behind patched/,
    );
    expect(choose('held').problem).toMatch(/^held\.json was released with v0\.2\.0/);
    rmSync(join(folder, '.git'), { recursive: true });
    expect(choose('held').problem).toMatch(/^held\.json was released with a version that git/);
    expect(choose('hel').problem).toBe('There is no story hel. There are: well, held, slow.');
  });
});
