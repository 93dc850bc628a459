// Everything fails at once: `npm run chaos -- --jobs 500 --minutes 5 --seed 7`. Ends with 1 if the judge finds a flaw.
const { randomInt } = require('node:crypto');
const { parseArgs } = require('node:util');
const useTestServers = require('../support/use-test-servers.cjs');
const { BREAKS } = require('./worker-preload.cjs');

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '500' },
    // How long the interference lasts; the jobs end soon after it.
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    // A protection that is switched off, which the judge must notice.
    break: { type: 'string' },
    // Temporal's server on PostgreSQL, instead of the dev server on a file.
    postgres: { type: 'boolean', default: false },
  },
});

const MOST_FLAWS_SHOWN = 40;

const refuse = (line) => {
  process.stderr.write(`${line}\n`);
  process.exit(2);
};
for (const name of ['jobs', 'minutes'])
  if (!(Number(values[name]) > 0)) refuse(`--${name} is ${values[name]}: give a number, such as 5.`);
if (values.break !== undefined && !BREAKS.includes(values.break))
  refuse(`--break is ${values.break}: give one of ${BREAKS.join(', ')}.`);

/** Temporal's server on a database that can be killed and frozen. */
async function startCluster(say) {
  const { preparePostgres } = require('../../bench/peers/servers.cjs');
  const support = require('../../bench/support/cluster.cjs');
  const { Part } = require('./part.ts');
  let database;
  const cluster = await support.startCluster(say, async (folder) => {
    const { port, versions, ...launch } = await preparePostgres(folder);
    database = new Part('database', `${folder}.log`, () => ({
      ...launch,
      env: { PATH: process.env.PATH },
      port,
    }));
    await database.start();
    return { port, versions, pid: database.process.pid, stop: () => database.stop('SIGINT') };
  });
  return { address: cluster.address, database, stop: cluster.stop };
}

async function main() {
  const say = (line) => process.stderr.write(`${line}\n`);
  const { runChaos } = require('./chaos-run.ts');
  const { DefaultLogger, Runtime } = require('@temporalio/worker');
  const telemetryOptions = { logging: { filter: 'OFF' } };
  // Runs that were terminated end in the middle of a task, and the replay warns of it.
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions, shutdownSignals: [] });
  await useTestServers();
  const cluster = values.postgres ? await startCluster(say) : undefined;
  const report = await runChaos({
    seed: values.seed,
    jobs: Number(values.jobs),
    lengthMs: 60_000 * Number(values.minutes),
    broken: values.break,
    temporalCli: process.env.VIDEOGEN_TEMPORAL_CLI,
    cluster,
    say,
  });
  const { flaws, table, lost, paidTwice, corrupt, leftBehind, seconds, folder } = report;
  const lines = Object.entries(table).map(([name, count]) => `${String(count).padStart(6)}  ${name}`);
  process.stdout.write(`seed ${values.seed}, ${seconds} s\n${lines.join('\n')}\n`);
  process.stdout.write(
    `${lost} lost, ${paidTwice} paid twice, ${corrupt} corrupt, ${leftBehind} left behind, ${flaws.length} flaws\n`,
  );
  for (const flaw of flaws.slice(0, MOST_FLAWS_SHOWN)) process.stdout.write(`${flaw}\n`);
  if (flaws.length > 0) process.stdout.write(`All of it is in ${folder}.\n`);
  return flaws.length > 0 ? 1 : 0;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
