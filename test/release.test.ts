import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dependencies, scripts, version } from '../package.json';
import { parseCompose, parseDockerfile } from './support/compose-file';
import { describeAtNight } from './support/nightly';
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
  changelog = '## [1.2.3] - 2026-11-19\n',
  codeOwners,
  compose = '',
  tag,
}: Given) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...PUBLISHABLE, ...manifest }));
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n${changelog}`);
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
}

test('the check before a release ends with what a person has to do', () => {
  expect(scripts['release:check']).toMatch(/ node scripts\/check-release.cjs --steps$/);
  const { stderr } = spawnSync(process.execPath, [join(ROOT, SCRIPT), '--steps'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(stderr).toMatch(
    new RegExp(`git tag v${version} && git push origin v${version} .*\n.*npm view temporal-videogen .*\n$`),
  );
});

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
    'with a tag of another version',
    { tag: 'v1.2.4' },
    'The tag is v1.2.4, but the version in package.json is 1.2.3',
  ],
  [
    'with changes that have no version yet',
    { changelog: '## [Unreleased]\n\n## [1.2.3] - 2026-11-19\n' },
    'CHANGELOG.md starts with Unreleased',
  ],
  [
    'with a version without its day',
    { changelog: '## [1.2.3] - soon\n' },
    'start it with "## [1.2.3] - ", and the date.',
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
  const newest = headings?.find((heading) => heading !== '## [Unreleased]');
  expect(newest).toMatch(/^## \[.*\] - \d{4}-\d{2}-\d{2}$/);
  expect(newest).toContain(`[${version}]`);
});

interface Lock {
  packages: Record<string, { integrity?: string; link?: boolean }>;
}

/** Without an integrity, npm installs whatever the registry has under that version, on platforms that we do not try too. */
const unchecked = ({ packages }: Lock) =>
  Object.entries(packages)
    .filter(([path, { integrity = '', link }]) => path !== '' && !link && !integrity.startsWith('sha512-'))
    .map(([path]) => path);

test('every package in a lock file has an integrity', () => {
  const files = filesNamed(['package-lock.json']);
  expect(files).toContain('package-lock.json');
  for (const file of files)
    expect([file, unchecked(JSON.parse(readFileSync(join(ROOT, file), 'utf8')))]).toEqual([file, []]);
  const packages = { '': {}, 'node_modules/a': { integrity: 'sha512-x' }, 'node_modules/b': {} };
  expect(unchecked({ packages })).toEqual(['node_modules/b']);
});

/** None of them asks anything of whoever uses the package; MPL-2.0 only of whoever changes that package's own files. */
const LICENCES = /^(0BSD|Apache-2[.]0|BSD-[23]-Clause|BlueOak-1[.]0[.]0|ISC|MIT|MPL-2[.]0)$/;

interface Component {
  name: string;
  version: string;
  licenses?: { license: { id?: string; name?: string } }[];
  hashes?: unknown[];
}

test('the bill of materials lists what the package brings, each with a hash and a licence that asks nothing', () => {
  const printed = spawnSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, encoding: 'utf8', shell: true });
  const { components }: { components: Component[] } = JSON.parse(printed.stdout);
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  const wanted = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  expect(listed).toEqual(expect.arrayContaining(wanted));
  expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([]);
  const licences = components.flatMap(({ name, licenses = [{ license: {} }] }) =>
    licenses.map(({ license }) => ({ name, licence: license.id ?? license.name })),
  );
  expect(licences.filter(({ licence = '' }) => !LICENCES.test(licence))).toEqual([]);
});

describe('the script that pins images', () => {
  const FILES = ['Dockerfile', 'docker-compose.yml'];
  const DIGEST = `sha256:${'0f'.repeat(32)}`;
  beforeEach(() => {
    for (const file of FILES) copyFileSync(join(ROOT, file), join(folder, file));
  });

  const texts = (where: string) => FILES.map((file) => readFileSync(join(where, file), 'utf8'));

  /** Runs the script with a Docker that answers so. */
  function pin(answer: string, ...args: string[]): number | null {
    writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const script = join(ROOT, scripts['images:pin'].replace('node ', ''));
    return spawnSync(process.execPath, [script, ...args], { cwd: folder, env }).status;
  }

  test('every image of others gets its digest, a second time too, and loses it again', () => {
    for (let time = 0; time < 2; time++) expect(pin(`echo ${DIGEST}`)).toBe(0);
    const [dockerfile = '', compose = ''] = texts(folder);
    const stages = parseDockerfile(dockerfile);
    const images = [
      ...stages.map(({ image }) => image).filter((image) => !stages.some(({ name }) => name === image)),
      ...Object.values(parseCompose(compose).services).flatMap(({ build, image = '' }) =>
        build === undefined ? [image] : [],
      ),
    ];
    expect(images.length).toBeGreaterThan(5);
    for (const image of images) expect(image).toMatch(new RegExp(`^[a-z/-]+:[^@]+@${DIGEST}$`));
    expect(pin('exit 1', '--remove')).toBe(0);
    expect(texts(folder).join()).not.toContain('@sha256');
  });

  test('a Docker that says no digest changes nothing', () => {
    for (const answer of ['exit 1', 'echo no digest']) expect(pin(answer)).not.toBe(0);
    expect(texts(folder)).toEqual(texts(ROOT));
  });
});

// Needs git.
describeAtNight('a recorded history', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=fox', '-c', 'user.email=fox@example.com', ...args], {
      cwd: folder,
    });

  /** Commits a history, and releases it under a tag if there is one. */
  function commitHistory(name: string, tag?: string): void {
    if (!existsSync(join(folder, '.git'))) git('init', '--quiet');
    writeFileSync(join(folder, `${name}.json`), '{}');
    git('add', '.');
    git('commit', '--quiet', '--message', name);
    if (tag !== undefined) git('tag', tag);
  }

  test('that was released is not recorded again, and the sentence says what to do instead', () => {
    commitHistory('well', 'v0.1.0');
    commitHistory('held', 'v0.2.0');
    expect(chooseHistories(folder, ['well', 'held'], ['held'])).toEqual({
      problem:
        'held.json was released with v0.2.0, and jobs like it may be running, so it is not recorded again. ' +
        "Put the change behind patched('…'), or release it as a new pinned version, and record its history under another name.",
    });
  });

  test('that is in no release may be recorded again; without names only those that do not exist are', () => {
    commitHistory('well', 'v0.1.0');
    expect(chooseHistories(folder, ['well', 'held'], [])).toEqual({ chosen: ['held'] });
    commitHistory('held');
    expect(chooseHistories(folder, ['well', 'held'], ['held'])).toEqual({ chosen: ['held'] });
  });

  test('outside a repository is not recorded again', () => {
    writeFileSync(join(folder, 'well.json'), '{}');
    expect(chooseHistories(folder, ['well'], ['well']).problem).toMatch(
      /^well\.json was released with a version that git/,
    );
    expect(readdirSync(folder)).toEqual(['well.json']);
  });

  test('with an unknown name is refused with the known ones', () => {
    expect(chooseHistories(folder, ['well', 'held'], ['wel']).problem).toBe(
      'There is no story wel. There are: well, held.',
    );
  });
});
