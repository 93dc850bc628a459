const { readdirSync, readFileSync, readlinkSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

/** Servers that were told to end, and children of jest that notice its end, have so long. */
const GONE_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 100;

/**
 * What of a run is still there: processes that work in its folder of temporary files, or have it in their arguments or
 * environment, which are ended, and what lies in that folder.
 */
async function leftIn(scratch) {
  const giveUpAt = Date.now() + GONE_WITHIN_MS;
  let processes = processesIn(scratch);
  while (processes.length > 0 && Date.now() < giveUpAt) {
    await sleep(LOOK_AGAIN_MS);
    processes = processesIn(scratch);
  }
  for (const { pid } of processes) kill(pid);
  return [
    ...processes.map(({ pid, command }) => `the process ${pid}, which was killed: ${command.slice(0, 200)}`),
    ...readdirSync(scratch).map(
      (name) => `${name} in the folder of temporary files${within(join(scratch, name))}`,
    ),
  ];
}

function within(path) {
  try {
    const names = readdirSync(path, { recursive: true });
    return `, with ${names.slice(0, 5).join(', ') || 'nothing in it'}`;
  } catch {
    return '';
  }
}

/** On systems without /proc there is nothing to be found. */
function processesIn(scratch) {
  const pids = listed('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return (
    pids
      .filter((pid) =>
        [text(pid, 'cmdline'), text(pid, 'environ'), cwd(pid)].some((told) => told.includes(scratch)),
      )
      .map((pid) => ({ pid: Number(pid), command: text(pid, 'cmdline').replaceAll('\0', ' ').trim() }))
      // One that has ended and whose parent has not asked yet has no command any more.
      .filter(({ command }) => command !== '')
  );
}

function listed(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function text(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

function cwd(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

module.exports = { leftIn };
