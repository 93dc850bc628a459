/**
 * The first minute of a newcomer: `npm run bench:first-minute`. Prints how long `npm ci && npm start` takes in a fresh clone of
 * the last commit with every cache empty (npm's, ours, Go's, Maven's, Python's), and then how long `npm start` takes once all is
 * there, each RUNS times (3 unless set), with when each step was reached. Configuration of package indexes and proxies is yours.
 */
const { spawn, execFileSync } = require('node:child_process');
const { cpus, homedir, loadavg, tmpdir } = require('node:os');
const { existsSync, mkdirSync, mkdtempSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const ROOT = join(__dirname, '..');
const RUNS = Number(process.env.RUNS ?? 3);
/** What the repository promises, on 2 cores that do nothing else. */
const LIMITS = { cold: 60, warm: 8 };

/** What `npm start` prints when it gets there. */
const STEPS = [
  ['translated', /^Using the emulated/],
  ['fetching the server', /^Fetching the Temporal/],
  ['job started', /^Job /],
  ['video', /^Stored /],
];

const CONFIGURES = ['npm_config_userconfig', 'npm_config_globalconfig', 'npm_config_registry'];
/** Everything that names a cache or a setting of ours; a home of its own makes the rest. */
const NAMES_A_CACHE =
  /^(npm_|XDG_|GOPATH$|GOMODCACHE$|GOCACHE$|MAVEN_|PIP_CACHE_DIR$|UV_CACHE_DIR$|VIDEO_API_|VIDEOGEN_|TEMPORAL_)/i;

function environmentOf(home) {
  const kept = Object.entries(process.env).filter(
    ([name]) => CONFIGURES.includes(name) || !NAMES_A_CACHE.test(name),
  );
  const npmrc = join(homedir(), '.npmrc');
  const pipConf = join(homedir(), '.config/pip/pip.conf');
  return {
    ...(existsSync(npmrc) && { npm_config_userconfig: npmrc }),
    ...(existsSync(pipConf) && { PIP_CONFIG_FILE: pipConf }),
    ...Object.fromEntries(kept),
    HOME: home,
    MAVEN_OPTS: `-Duser.home=${home}`,
  };
}

/** Runs a command of a person's; answers how long it took, and when it came to which step. */
function run(command, { cwd, env }) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1_000;
    const reached = [];
    let printed = '';
    const child = spawn('sh', ['-c', `${command} 2>&1`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
      for (const line of printed.split('\n')) {
        for (const [step, pattern] of STEPS) {
          if (pattern.test(line) && !reached.some(([known]) => known === step))
            reached.push([step, seconds()]);
        }
      }
    });
    child.once('close', (code) => {
      if (code === 0) resolve({ took: seconds(), reached });
      else reject(new Error(`${command} ended with code ${code}:\n${printed}`));
    });
  });
}

const inSeconds = (seconds) => `${seconds.toFixed(1)} s`;
const told = ({ took, reached }) =>
  [...reached, ['end', took]].map(([step, at]) => `${step} ${at.toFixed(1)}`).join(', ');

function tell(line) {
  process.stdout.write(`${line}\n`);
}

function tellWorst(name, times) {
  const worst = Math.max(...times);
  const limit = LIMITS[name];
  tell(`${name}: at most ${inSeconds(worst)} of ${limit} s${worst > limit ? ': TOO SLOW' : ''}`);
  if (worst > limit) process.exitCode = 1;
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-first-minute-'));
  try {
    tell(`${cpus().length} cores, load ${loadavg()[0].toFixed(1)}, Node ${process.version}`);
    const cold = [];
    let place;
    for (let number = 1; number <= RUNS; number++) {
      const home = join(folder, `home-${number}`);
      const cwd = join(folder, `clone-${number}`);
      mkdirSync(home);
      execFileSync('git', ['clone', '--quiet', ROOT, cwd]);
      place = { cwd, env: environmentOf(home) };
      const install = await run('npm ci', place);
      const start = await run('npm start', place);
      cold.push(install.took + start.took);
      tell(
        `cold ${number}: ${inSeconds(cold.at(-1))} = npm ci ${inSeconds(install.took)} + npm start (${told(start)})`,
      );
    }
    const warm = [];
    for (let number = 1; number <= RUNS; number++) {
      const start = await run('npm start', place);
      warm.push(start.took);
      tell(`warm ${number}: ${inSeconds(start.took)} (${told(start)})`);
    }
    tellWorst('cold', cold);
    tellWorst('warm', warm);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
