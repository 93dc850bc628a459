const { TestEnvironment } = require('jest-environment-node');
const { readFileSync } = require('node:fs');
const { relative } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { recordProcessorTime, ROOT } = require('./last-run.cjs');

/** What is closed in good time may take this long to be gone, on a machine that has other things to do. */
const GONE_WITHIN_MS = 30_000;
const LOOK_AGAIN_MS = 20;

/** Fails a test file that leaves a timer, a socket, a server, a child process or Temporal's runtime behind. */
module.exports = class WatchfulEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = relative(ROOT, context.testPath);
    this.processorMsBefore = processorMs();
  }

  async setup() {
    await super.setup();
    // They are opened when somebody first asks for them, and stay.
    void [process.stdout, process.stderr];
    this.before = counted(process.getActiveResourcesInfo());
    this.left = [];
  }

  async handleTestEvent({ name }) {
    // After the last hook, and while the modules of the file are still there to be asked.
    if (name === 'run_finish') this.left = await untilNone(() => this.leftNow());
  }

  async teardown() {
    await super.teardown();
    recordProcessorTime(this.file, processorMs() - this.processorMsBefore);
    const { left } = this;
    if (left.length === 0) return;
    throw new Error(
      `This file leaves open: ${left.join(', ')}. Close what it opens in afterEach or afterAll.`,
    );
  }

  leftNow() {
    const more = [...counted(process.getActiveResourcesInfo())]
      .filter(([kind, count]) => count > (this.before.get(kind) ?? 0))
      .map(([kind]) => kind);
    return [...more, ...(this.global.temporalRuntimeIsOpen?.() ? ["Temporal's Runtime"] : [])];
  }
};

/** Of this process and of its children that have ended, such as servers. Linux counts those, in hundredths of a second. */
function processorMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + childrenMs();
}

function childrenMs() {
  try {
    const [, fields = ''] = /.*\) (.*)/s.exec(readFileSync('/proc/self/stat', 'utf8')) ?? [];
    const [user, system] = fields.split(' ').slice(13, 15);
    return (Number(user) + Number(system)) * 10;
  } catch {
    return 0;
  }
}

async function untilNone(look) {
  const giveUpAt = Date.now() + GONE_WITHIN_MS;
  for (;;) {
    const found = look();
    if (found.length === 0 || Date.now() > giveUpAt) return found;
    await sleep(LOOK_AGAIN_MS, undefined, { ref: false });
  }
}

function counted(kinds) {
  const counts = new Map();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
