/** One contestant in one case: its program runs, is killed or fails, and is started again, as a supervisor would. */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { billOf } = require('./judge.cjs');
const { startService } = require('./service.cjs');

/** A program that fails again and again is given up. */
const MOST_RUNS = 4;
/** A program that neither ends nor fails is killed, and started again. */
const RUN_LIMIT_MS = 90_000;
const RESTART_MS = 500;
const PERSON_LOOKS_MS = 200;

/** The process groups that are alive: a run that is interrupted takes them with it. */
const groups = new Set();
function killGroup(pid) {
  groups.delete(pid);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
process.once('exit', () => groups.forEach(killGroup));

/** Resolves with what the contestant's case cost: the bill, how often it ran, and whether it asked a person. */
exports.runCase = async ({ program, dialect }, testCase, { startEmulator, env = {}, name }) => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-yardstick-'));
  let pid;
  const service = await startService({
    startEmulator,
    dialect,
    testCase,
    kill: () => killGroup(pid),
  });
  const start = () => {
    const log = openSync(join(folder, 'log.txt'), 'a');
    const child = spawn(process.execPath, [program], {
      cwd: folder,
      // A group of its own, which is killed with all that it started.
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        ...env,
        SERVICE_URL: service.url,
        SERVICE_KEY: service.apiKey,
        JOB: name,
        FOLDER: folder,
      },
    });
    closeSync(log);
    pid = child.pid;
    groups.add(pid);
    return child;
  };

  try {
    let runs = 0;
    let hasEnded = false;
    const questions = answerQuestions(folder, service, () => hasEnded);
    let code;
    while (code !== 0 && runs < MOST_RUNS) {
      if (runs > 0) await sleep(RESTART_MS);
      runs += 1;
      code = await endOf(start());
      killGroup(pid);
    }
    hasEnded = true;
    const bill = billOf({ tasks: await service.tasks(), file: join(folder, 'video.mp4') });
    return {
      ...bill,
      askedPerson: (await questions) > 0,
      hasHappened: service.hasHappened(),
      runs,
      log: readFileSync(join(folder, 'log.txt'), 'utf8'),
    };
  } finally {
    killGroup(pid);
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
};

async function endOf(child) {
  const ended = once(child, 'exit');
  const limit = new AbortController();
  const isLate = sleep(RUN_LIMIT_MS, true, { signal: limit.signal }).catch(() => false);
  if ((await Promise.race([ended, isLate])) === true) killGroup(child.pid);
  limit.abort();
  const [code] = await ended;
  return code;
}

/** The person looks for the job's task at the service, and says what is there. Resolves with the number of questions. */
async function answerQuestions(folder, service, hasEnded) {
  const [question, answer] = ['question.json', 'answer.json'].map((file) => join(folder, file));
  let count = 0;
  while (!hasEnded()) {
    await sleep(PERSON_LOOKS_MS);
    if (!existsSync(question) || existsSync(answer)) continue;
    count += 1;
    const [task] = await service.tasks();
    writeFileSync(`${answer}.part`, JSON.stringify({ taskId: task?.id }));
    renameSync(`${answer}.part`, answer);
  }
  return count;
}
