/** What Linux says about a process, for the benchmarks. */
const { readFileSync } = require('node:fs');

const TICKS_PER_SECOND = 100;

/** Milliseconds of processor time that a process has used. */
function processorMs(pid) {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(afterName[11]) + Number(afterName[12])) / TICKS_PER_SECOND) * 1_000;
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

module.exports = { argument, memoryMb, processorMs, TICKS_PER_SECOND };
