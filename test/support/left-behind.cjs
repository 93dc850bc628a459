const { readdirSync, readFileSync, readlinkSync, statSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

/** How long servers that are stopping, and children of jest, may take to end. */
const END_WITHIN_MS = 10_000;
const CHECK_INTERVAL_MS = 100;

/**
 * Lists what a run has left behind: processes with its temporary folder as working directory, in their arguments or in
 * their environment, which it kills, and the files in that folder.
 */
async function leftIn(scratch) {
  const giveUpAt = Date.now() + END_WITHIN_MS;
  let processes = processesIn(scratch);
  while (processes.length > 0 && Date.now() < giveUpAt) {
    await sleep(CHECK_INTERVAL_MS);
    processes = processesIn(scratch);
  }
  for (const { pid } of processes) unlessGone(() => process.kill(pid, 'SIGKILL'));
  return [
    ...processes.map(({ pid, command }) => `the process ${pid}, which was killed: ${command.slice(0, 200)}`),
    ...readdirSync(scratch)
      .map((name) => ({ name, files: filesIn(join(scratch, name)) }))
      // An empty folder is no loss: a check that was given up may create one after its test has removed it.
      .filter(({ files }) => files.length > 0)
      .map(
        ({ name, files }) =>
          `in the folder of temporary files: ${name}, with ${files.slice(0, 5).join(', ')}`,
      ),
  ];
}

function filesIn(path) {
  if (!statSync(path).isDirectory()) return ['its content'];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name);
}

/** Finds none on systems without /proc. */
function processesIn(scratch) {
  const pids = unlessGone(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  const read = (pid, name) => unlessGone(() => readFileSync(`/proc/${pid}/${name}`, 'utf8'), '');
  const cwd = (pid) => unlessGone(() => readlinkSync(`/proc/${pid}/cwd`), '');
  return (
    pids
      .filter((pid) => Number(pid) !== process.pid)
      .filter((pid) =>
        [read(pid, 'cmdline'), read(pid, 'environ'), cwd(pid)].some((text) => text.includes(scratch)),
      )
      .map((pid) => ({ pid: Number(pid), command: read(pid, 'cmdline').replaceAll('\0', ' ').trim() }))
      // A zombie has no command.
      .filter(({ command }) => command !== '')
  );
}

function unlessGone(act, otherwise) {
  try {
    return act();
  } catch {
    return otherwise;
  }
}

module.exports = { leftIn };
