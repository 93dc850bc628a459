const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const FOLDER = join(__dirname, '../ai-sdk');
/** Has the hash of the lock file that node_modules was installed from. */
const STAMP = join(FOLDER, 'node_modules/.installed-from');
/** They say that they need Node 22, and run on 20.19, which can require ES modules: a warning would help nobody. */
const QUIETLY = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'];
const TIMEOUT_MS = 5 * 60_000;

/** Installs the packages of the AI SDK into test/ai-sdk, unless they are there. Jest calls it as a global setup. */
async function installAiSdkPackages() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(FOLDER, 'package-lock.json')))
    .digest('hex');
  if (readStamp() === wanted) return;
  try {
    execFileSync('npm', ['ci', '--prefix', FOLDER, ...QUIETLY], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIMEOUT_MS,
      shell: process.platform === 'win32',
    });
    writeFileSync(STAMP, wanted);
  } catch (error) {
    // All other tests can do without them.
    process.stderr.write(
      `The packages of the AI SDK could not be installed, so the tests in test/ai-sdk will fail: ${error.message}\n`,
    );
  }
}

function readStamp() {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return undefined;
  }
}

module.exports = installAiSdkPackages;
if (require.main === module) void installAiSdkPackages();
