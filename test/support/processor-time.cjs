const { readdirSync, readFileSync } = require('node:fs');

/** A tick of /proc/PID/stat, on every Linux. */
const TICK_MS = 10;
/** Fields of /proc/PID/stat after the name: user and system time of the process, then of its ended children. */
const OWN = [11, 12];
const CHILDREN = [13, 14];

/** The processor time of this process and, where there is /proc, of its children. */
function processorMs() {
  const { user, system } = process.cpuUsage();
  const ticks = ticksOf('self', CHILDREN) + childrenOf().reduce((sum, id) => sum + ticksOf(id, OWN), 0);
  return (user + system) / 1_000 + ticks * TICK_MS;
}

function childrenOf() {
  const tasks = orNothing(() => readdirSync('/proc/self/task')) ?? [];
  return tasks.flatMap((task) => {
    const children = orNothing(() => readFileSync(`/proc/self/task/${task}/children`, 'utf8'));
    return children?.split(' ').filter(Boolean) ?? [];
  });
}

function ticksOf(id, fields) {
  const stat = orNothing(() => readFileSync(`/proc/${id}/stat`, 'utf8'));
  const values = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return fields.reduce((sum, field) => sum + Number(values[field] ?? 0), 0);
}

/** A process may end while it is read, and not every system has these files. */
function orNothing(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

module.exports = { processorMs };
