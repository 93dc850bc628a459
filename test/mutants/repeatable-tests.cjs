/** Runs single tests of a file that jest has loaded and run, again and again, without loading anything anew. */
class RepeatableTests {
  /** Blocks whose `beforeAll` has run and whose `afterAll` has not. */
  open = [];

  /** Returns why a test fails, or undefined. What its blocks have set up is left for the next test. */
  async run(test, limitMs) {
    this.uncaught = undefined;
    const blocks = blocksAround(test.parent);
    const context = Object.create(null);
    let problem;
    const attempt = async (step, ofContext) => {
      try {
        await within(limitMs, () => step.fn.call(ofContext));
      } catch (error) {
        problem ??= problemOf(error);
      }
    };
    for (const block of blocks.filter((one) => !this.open.includes(one))) {
      this.open.push(block);
      for (const hook of hooksOf([block], 'beforeAll')) await attempt(hook, {});
    }
    for (const hook of hooksOf(blocks, 'beforeEach')) if (problem === undefined) await attempt(hook, context);
    if (problem === undefined) await attempt(test, context);
    for (const hook of hooksOf(blocks.toReversed(), 'afterEach')) await attempt(hook, context);
    return problem ?? this.uncaught;
  }

  /** For an error that was thrown outside the promise of the test. */
  noteUncaught(error) {
    this.uncaught ??= problemOf(error);
  }

  /** Has each block set up anew what its tests share. */
  async close(limitMs) {
    for (const block of this.open.splice(0).toReversed()) {
      for (const hook of hooksOf([block], 'afterAll'))
        await within(limitMs, () => hook.fn.call({})).catch(() => {});
    }
  }
}

function blocksAround(block) {
  return block === undefined ? [] : [...blocksAround(block.parent), block];
}

function hooksOf(blocks, type) {
  return blocks.flatMap(({ hooks }) => hooks.filter((hook) => hook.type === type));
}

async function within(limitMs, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(NO_END)), limitMs);
  });
  try {
    await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
}

const NO_END = 'no end';

function problemOf(error) {
  const [line] = String(error?.message ?? error).split('\n');
  return line === '' ? 'it fails' : line;
}

module.exports = { NO_END, RepeatableTests };
