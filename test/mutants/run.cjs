// Changes the code in small ways, one at a time, and sees whether a test fails: `npm run mutants`.
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { parseArgs } = require('node:util');

const USAGE = `npm run mutants -- [options]
  --only PATH    only a folder or a file, such as src/contract or workflows/hold.ts
  --sample N     only so many, chosen by --seed
  --seed TEXT    another sample; 7 if not set
  --again        also those that were measured before
  --report       measure nothing, print what is known
  --page         write the scores into docs/proof.md
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      sample: { type: 'string' },
      seed: { type: 'string', default: '7' },
      again: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.sample !== undefined && !/^[1-9]\d*$/.test(values.sample)) {
    throw new Error(`--sample is ${values.sample}: give a number, such as 200.`);
  }
  return { ...values, sample: values.sample === undefined ? undefined : Number(values.sample) };
}

/** Its packages are not among the project's, so that \`npm ci\` stays quick. */
function installPackages() {
  if (existsSync(join(__dirname, 'node_modules'))) return;
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: __dirname,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`npm ci in test/mutants ended with ${status}`);
}

async function main() {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { only } = options;
  if (!options.report) {
    installPackages();
    const isWorkflows = only?.startsWith('workflows');
    const log = (line) => process.stderr.write(`${line}\n`);
    if (!isWorkflows) await require('./quick.cjs').measureQuick({ ...options, log });
    if (isWorkflows || only === undefined) {
      await require('./workflows.cjs').measureWorkflows({ ...options, log });
    }
  }
  require('./report.cjs').report(options);
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
