const { Socket } = require('node:net');
const { join, relative } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { TestEnvironment } = require('jest-environment-node');
const { leftOut } = require('../variants/left-out.cjs');

const ROOT = join(__dirname, '../..');
/** How long closing handles may take on a busy machine. */
const CLOSE_WITHIN_MS = 30_000;
const CHECK_INTERVAL_MS = 20;

/** Fails a test file that leaves a timer, a socket, a server, a child process or Temporal's runtime behind. */
module.exports = class OpenHandles extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.file = relative(ROOT, context.testPath);
  }

  async setup() {
    await super.setup();
    // Node opens these on first use and never closes them.
    void [process.stdout, process.stderr];
    this.before = counted(process.getActiveResourcesInfo());
    this.left = [];
    this.hasFailed = false;
  }

  async handleTestEvent({ name, test }, state) {
    if (name === 'test_done' && test.errors.length > 0) this.hasFailed = true;
    const { VIDEOGEN_TEST_VARIANT: variant } = process.env;
    if (name === 'run_start' && variant) leaveOut(state.rootDescribeBlock, this.file, variant);
    // After the last hook, while the modules of the file are still loaded.
    if (name === 'run_finish') this.left = await untilNone(() => this.leftNow());
  }

  async teardown() {
    await super.teardown();
    const { left } = this;
    // A test that failed may not have closed what it opened; this error would hide its own.
    if (left.length === 0 || this.hasFailed) return;
    throw new Error(
      `This file leaves open: ${left.join(', ')}. Close what it opens in afterEach or afterAll.`,
    );
  }

  leftNow() {
    // Calls to a server that no longer answers cannot be ended; jest ends their process.
    if (this.global.serverHasStalled) return [];
    const more = [...counted(process.getActiveResourcesInfo())]
      .filter(([kind, count]) => count > (this.before.get(kind) ?? 0))
      .map(([kind]) => (kind === 'TCPSocketWrap' ? `${kind} (${openSockets()})` : kind));
    return this.global.temporalRuntimeIsOpen() ? [...more, "Temporal's Runtime"] : more;
  }
};

/** Whom they are connected to, which tells most about who opened them. */
function openSockets() {
  const sockets = process._getActiveHandles().filter((handle) => handle instanceof Socket && !handle.isTTY);
  return sockets
    .map(({ connecting, remoteAddress, remotePort, localPort }) =>
      connecting ? 'connecting' : `port ${localPort} to ${remoteAddress}:${remotePort}`,
    )
    .join(', ');
}

/** Takes tests away that cannot hold under a variant: test/variants/left-out.cjs says why. */
function leaveOut(block, file, variant, before = []) {
  const nameOf = (one) => [...before, one.name].join(' ');
  const stays = (one) => one.type !== 'test' || !leftOut(variant, file, nameOf(one));
  for (const list of [block.children, block.tests]) {
    if (list) list.splice(0, list.length, ...list.filter(stays));
  }
  for (const child of block.children) {
    if (child.type === 'describeBlock') leaveOut(child, file, variant, [...before, child.name]);
  }
}

async function untilNone(findOpen) {
  const giveUpAt = Date.now() + CLOSE_WITHIN_MS;
  for (;;) {
    const found = findOpen();
    if (found.length === 0 || Date.now() > giveUpAt) return found;
    await sleep(CHECK_INTERVAL_MS, undefined, { ref: false });
  }
}

function counted(kinds) {
  const counts = new Map();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
