/**
 * Measures the first minute of a new user: `npm run bench:first-minute`. Prints how long `npm ci && npm start` takes in a fresh
 * clone of the last commit with all caches empty (npm's, ours, Go's, Maven's, Python's), then how long `npm start` takes with
 * full caches, each RUNS times (3 unless set), with the time of each step. Your settings for package indexes and proxies apply.
 */
const { spawn, execFileSync } = require('node:child_process');
const { cpus, homedir, loadavg, tmpdir } = require('node:os');
const { existsSync, mkdirSync, mkdtempSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const ROOT = join(__dirname, '..');
const RUNS = Number(process.env.RUNS ?? 3);
/** What the repository promises, in seconds on 2 idle cores. */
const LIMITS_SECONDS = { cold: 60, warm: 8 };

/** The output of `npm start` that shows each step. */
const STEPS = [
  ['compiled', /^Using the emulated/],
  ['fetching the server', /^Downloading the Temporal/],
  ['job started', /^Job /],
  ['video', /^Stored /],
];

const NPM_CONFIG = ['npm_config_userconfig', 'npm_config_globalconfig', 'npm_config_registry'];
/** Variables for caches and for our settings. The separate home folder covers all other caches. */
const CACHE_OR_SETTING =
  /^(npm_|XDG_|GOPATH$|GOMODCACHE$|GOCACHE$|MAVEN_|PIP_CACHE_DIR$|UV_CACHE_DIR$|VIDEO_API_|VIDEOGEN_|TEMPORAL_)/i;

function environmentOf(home) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => NPM_CONFIG.includes(name) || !CACHE_OR_SETTING.test(name),
  );
  const npmrc = join(homedir(), '.npmrc');
  const pipConf = join(homedir(), '.config/pip/pip.conf');
  return {
    ...(existsSync(npmrc) && { npm_config_userconfig: npmrc }),
    ...(existsSync(pipConf) && { PIP_CONFIG_FILE: pipConf }),
    ...Object.fromEntries(inherited),
    HOME: home,
    MAVEN_OPTS: `-Duser.home=${home}`,
  };
}

/** Runs a command. Returns how long it took, and when it reached each step. */
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
const describeSteps = ({ took, reached }) =>
  [...reached, ['end', took]].map(([step, at]) => `${step} ${at.toFixed(1)}`).join(', ');

function print(line) {
  process.stdout.write(`${line}\n`);
}

function printWorst(name, times) {
  const worst = Math.max(...times);
  const limit = LIMITS_SECONDS[name];
  print(`${name}: at most ${inSeconds(worst)} of ${limit} s${worst > limit ? ': TOO SLOW' : ''}`);
  if (worst > limit) process.exitCode = 1;
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-first-minute-'));
  try {
    print(`${cpus().length} cores, load ${loadavg()[0].toFixed(1)}, Node ${process.version}`);
    const cold = [];
    let options;
    for (let number = 1; number <= RUNS; number++) {
      const home = join(folder, `home-${number}`);
      const cwd = join(folder, `clone-${number}`);
      mkdirSync(home);
      execFileSync('git', ['clone', '--quiet', ROOT, cwd]);
      options = { cwd, env: environmentOf(home) };
      const install = await run('npm ci', options);
      const start = await run('npm start', options);
      cold.push(install.took + start.took);
      print(
        `cold ${number}: ${inSeconds(cold.at(-1))} = npm ci ${inSeconds(install.took)} + npm start (${describeSteps(start)})`,
      );
    }
    const warm = [];
    for (let number = 1; number <= RUNS; number++) {
      const start = await run('npm start', options);
      warm.push(start.took);
      print(`warm ${number}: ${inSeconds(start.took)} (${describeSteps(start)})`);
    }
    printWorst('cold', cold);
    printWorst('warm', warm);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
