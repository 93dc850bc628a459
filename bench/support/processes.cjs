/** What Linux says about a process, for the benchmarks. */
const { readdirSync, readFileSync } = require('node:fs');

const TICKS_PER_SECOND = 100;

/** Milliseconds of processor time that a process has used. */
function processorMs(pid) {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(afterName[11]) + Number(afterName[12])) / TICKS_PER_SECOND) * 1_000;
}

/** The processor seconds of a process and its descendants, from Linux. */
function cpuSeconds(pid) {
  const stats = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ').map(Number);
      stats.set(Number(name), {
        parent: fields[1],
        own: fields[11] + fields[12],
        ended: fields[13] + fields[14],
      });
    } catch {
      // It has ended meanwhile.
    }
  }
  const ticksOf = (root) => {
    const { own, ended } = stats.get(root) ?? { own: 0, ended: 0 };
    const children = [...stats].filter(([, { parent }]) => parent === root);
    return children.reduce((sum, [child]) => sum + ticksOf(child), own + ended);
  };
  return ticksOf(pid) / TICKS_PER_SECOND;
}

/** The processor seconds of this process, without the processes that it started. */
function ownCpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

/** The processor seconds that all processes of the machine have used, of all cores. */
function machineCpuSeconds() {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]
    .replace(/^cpu +/, '')
    .split(' ')
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/** Resident memory in MB (10^6 bytes): rss counts shared pages in full, pss counts the share of this process. */
function memoryMb(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mb = (name) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)[1]) * 1_024) / 1e6;
  return { rss: mb('Rss'), pss: mb('Pss') };
}

/** The value after `--name` on the command line. */
function argument(name, defaultValue) {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? defaultValue : process.argv[index + 1];
}

module.exports = {
  argument,
  cpuSeconds,
  machineCpuSeconds,
  memoryMb,
  ownCpuSeconds,
  processorMs,
  TICKS_PER_SECOND,
};
