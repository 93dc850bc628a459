/**
 * Writes the exports of each entry point to `<name>.api.md` in this folder. With `--check` it writes nothing, and fails if a
 * report differs from the built declarations, so that every change of the public API shows up in review.
 */
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { CompilerState, Extractor, ExtractorConfig } = require('@microsoft/api-extractor');
const { ENTRY_POINTS } = require('./entry-points.cjs');

const ROOT = join(__dirname, '..');
const check = process.argv.includes('--check');
const scratch = mkdtempSync(join(tmpdir(), 'videogen-api-'));

/** Our declarations use no types of these packages, and reading them would take most of the time. */
const NO_TYPES = ['./api/no-types.d.ts'];
const COMPILER = {
  extends: './tsconfig.build.json',
  compilerOptions: { paths: { '@temporalio/proto*': NO_TYPES, webpack: NO_TYPES } },
};

const createConfig = ({ declaration, reportFile }) =>
  ExtractorConfig.prepare({
    packageJsonFullPath: join(ROOT, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: declaration,
      compiler: { overrideTsconfig: COMPILER },
      newlineKind: 'lf',
      apiReport: {
        enabled: true,
        reportFileName: reportFile,
        reportFolder: __dirname,
        reportTempFolder: scratch,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: {
          // Parts of exported types need no name of their own: users pass them on.
          default: { logLevel: 'none' },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
  });

/** Its compiler is older than ours, but a declaration that it cannot read is an error. We print our own advice. */
const HIDDEN_MESSAGES = new Set([
  'console-preamble',
  'console-compiler-version-notice',
  'console-api-report-not-copied',
]);

function main() {
  const configs = ENTRY_POINTS.map(createConfig);
  const compilerState = CompilerState.create(configs[0], {
    additionalEntryPoints: configs.slice(1).map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
  });
  const changed = configs.filter((config) => {
    const { apiReportChanged, errorCount } = Extractor.invoke(config, {
      compilerState,
      localBuild: !check,
      printApiReportDiff: check,
      messageCallback: (message) => {
        if (HIDDEN_MESSAGES.has(message.messageId)) message.logLevel = 'none';
      },
    });
    if (errorCount > 0) process.exitCode = 1;
    return apiReportChanged;
  });
  if (!check || changed.length === 0) return;
  const names = changed.map(({ reportFilePath }) => reportFilePath.slice(ROOT.length + 1));
  process.stderr.write(
    `The public API differs from ${names.join(', ')}: if you meant to change it, run npm run api and commit the result.\n`,
  );
  process.exitCode = 1;
}

try {
  main();
} finally {
  rmSync(scratch, { recursive: true });
}
