/**
 * Runs before `npm publish` (`prepublishOnly`), in the folder of the package. It refuses a package that npm cannot link
 * to its source, whose version, tag and changelog disagree, or whose images may change. Each problem is one sentence that names the fix.
 */
const { existsSync, readFileSync } = require('node:fs');

/** The form that npm itself writes; provenance compares it with the repository that builds the package. */
const REPOSITORY = /^git\+(https:\/\/[^/]+\/[^/]+\/[^/]+)\.git$/;

/** `bugs` and `homepage` must follow from `repository`. */
function repositoryProblems({ repository, bugs, homepage }) {
  const url = repository?.url;
  if (url === undefined) {
    return [
      'package.json names no repository, so npm cannot link the package to its source: run npm pkg set repository.type=git repository.url=git+https://github.com/OWNER/NAME.git',
    ];
  }
  const [, page] = REPOSITORY.exec(url) ?? [];
  if (page === undefined) {
    return [
      `package.json's repository.url is ${url}, which provenance cannot compare: write it as git+https://github.com/OWNER/NAME.git.`,
    ];
  }
  return [
    ...(bugs?.url === `${page}/issues`
      ? []
      : [`package.json's bugs.url does not match its repository: run npm pkg set bugs.url=${page}/issues`]),
    ...(homepage === `${page}#readme`
      ? []
      : [`package.json's homepage does not match its repository: run npm pkg set homepage=${page}#readme`]),
  ];
}

function versionProblems({ version }, changelog, { GITHUB_REF_TYPE, GITHUB_REF_NAME }) {
  const [, heading = '', newest] = /^## (\[(.*?)\].*)$/m.exec(changelog) ?? [];
  return [
    ...(newest === version && /\] - \d{4}-\d{2}-\d{2}$/.test(heading)
      ? []
      : [
          `CHANGELOG.md starts with ${newest ?? 'no version'}: start it with "## [${version}] - ", and the date.`,
        ]),
    ...(GITHUB_REF_TYPE !== 'tag' || GITHUB_REF_NAME === `v${version}`
      ? []
      : [
          `The tag is ${GITHUB_REF_NAME}, but the version in package.json is ${version}: tag the commit that sets the version.`,
        ]),
  ];
}

/** A tag may be moved to another image, a digest not. */
function imageProblems(...files) {
  const named = files.join('\n').match(/^(FROM| *image:) +\S+:\d\S*/gm) ?? [];
  return named.every((line) => line.includes('@sha256:'))
    ? []
    : ['Dockerfile or docker-compose.yml names an image by its tag alone: run npm run images:pin'];
}

/** Only a reminder, since code owners are optional. */
function reminders(codeOwners) {
  const hasOwner = /^[^#\s].*@/m.test(codeOwners);
  return hasOwner ? [] : ['Reminder: .github/CODEOWNERS lists no owner, so GitHub requests no reviews.'];
}

const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const manifest = JSON.parse(read('package.json'));
const problems = [
  ...repositoryProblems(manifest),
  ...versionProblems(manifest, read('CHANGELOG.md'), process.env),
  ...imageProblems(read('Dockerfile'), read('docker-compose.yml')),
];
/** What no command does: for `npm run release:check`. */
const STEPS = [
  'What is left to you:',
  '  npm owner ls temporal-videogen; npm owner ls videogen   # both names are yours, or nobody has them yet',
  `  date +%F   # the day of the release, beside [${manifest.version}] in CHANGELOG.md`,
  `  git tag v${manifest.version} && git push origin v${manifest.version}   # the workflow release.yml then publishes`,
  '  npm view temporal-videogen dist.attestations   # afterwards: the package names its commit and its workflow',
];
const lines = [...problems, ...reminders(read('.github/CODEOWNERS'))];
if (process.argv.includes('--steps')) lines.push(...STEPS);
for (const line of lines) process.stderr.write(`${line}\n`);
if (problems.length > 0) process.exitCode = 1;
