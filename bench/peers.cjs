/**
 * The peers of section (c): the same one-second job on BullMQ, Restate and DBOS, in the words of each one's own guide. Each
 * has a server of its own on loopback. `npm run peers` installs their packages; what is absent is skipped.
 */
const { execFile } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { promisify } = require('node:util');
const { Absent, startPostgres, startRedis, startRestate } = require('./peers/servers.cjs');
const { startEmulatorProcess } = require('./support/emulator-process.cjs');
const { runSection } = require('./support/section.cjs');
const { median } = require('./support/values.cjs');

const PEERS = {
  bullmq: { title: 'BullMQ on Redis', package: 'bullmq', start: startRedis },
  restate: { title: 'Restate', package: '@restatedev/restate-server', start: startRestate },
  dbos: { title: 'DBOS on PostgreSQL', package: '@dbos-inc/dbos-sdk', start: startPostgres },
};
const JOB_TIME_MS = 1_000;
const VIDEO_BYTES = 10_000;
const FULL = { warmUp: 20, atOnce: [200, 600], rounds: 2 };
const QUICK = { warmUp: 1, atOnce: [5], rounds: 1 };
const LIMIT_MS = 90_000;
/** Temporal's dev server keeps its data in memory, so those of the peers get a folder in memory. */
const IN_MEMORY = '/dev/shm';

function installedVersion(name) {
  const file = join(__dirname, 'peers', name, 'node_modules', PEERS[name].package, 'package.json');
  if (!existsSync(file)) throw new Absent(`its packages are not installed: npm run peers.`);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

async function runPeer(name, emulator, { warmUp, atOnce, rounds }) {
  const { title, start } = PEERS[name];
  const version = installedVersion(name);
  const data = mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'videogen-bench-'));
  const folder = mkdtempSync(join(tmpdir(), 'videogen-bench-'));
  const counts = [warmUp, ...Array.from({ length: rounds }, () => atOnce).flat()];
  let server;
  try {
    server = await start(data);
    const { stop, versions, ...ports } = server;
    const options = { ...ports, url: emulator.url, apiKey: emulator.apiKey, folder, counts };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(__dirname, 'peers', name, 'run.cjs'), JSON.stringify(options)],
      { timeout: LIMIT_MS, killSignal: 'SIGKILL' },
    );
    const { seconds } = JSON.parse(stdout.trim().split('\n').at(-1));
    const rows = atOnce.map((count) => {
      const rates = counts.flatMap((each, at) => (at > 0 && each === count ? [count / seconds[at]] : []));
      return { name: `${title}, ${count} at once`, values: { jobsPerSecond: median(rates) } };
    });
    return { rows, versions: { [title.split(' ')[0]]: version, ...versions } };
  } finally {
    await server?.stop();
    rmSync(data, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure({ quick }) {
  const emulator = await startEmulatorProcess({ jobTimeMs: JOB_TIME_MS, videoBytes: VIDEO_BYTES });
  const section = {
    section: 'c',
    title: 'Jobs of one second',
    rows: [],
    notes: [
      'The peers make the same HTTP calls, each in a durable step, without our checks. Their data folders are in memory, like the data of the dev server. Each job waits for a second, so a fast peer does best with more jobs at once.',
    ],
    versions: {},
  };
  for (const [name, { title }] of Object.entries(PEERS)) {
    try {
      const { rows, versions } = await runPeer(name, emulator, quick ? QUICK : FULL);
      section.rows.push(...rows);
      Object.assign(section.versions, versions);
    } catch (error) {
      const how = error instanceof Absent ? 'was skipped' : 'failed';
      section.notes.push(`${title} ${how}: ${error.message.slice(0, 500)}`);
    }
  }
  await emulator.close();
  return section;
}

module.exports = { measure };
if (require.main === module) void runSection(measure);
