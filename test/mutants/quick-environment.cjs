// Runs the tests of a file once, and then those that reach a mutant again with that mutant, for one mutant after the other.
const { appendFileSync, readFileSync } = require('node:fs');
const OneContext = require('../support/one-context.cjs');
const { NO_END, RepeatableTests } = require('./repeatable-tests.cjs');

/** A mutant may be slower than the code itself, and the machine may have more to do than when that was measured. */
const LIMIT = { atLeastMs: 3_000, times: 6 };
const HITS = { atLeast: 10_000, times: 20 };
/** A test that reaches mutants more often would take seconds for each; it fails and is not used. */
const MOST_COVERAGE = 3_000_000;
/** Their ids count from zero. */
const MOST_MUTANTS = 20_000;
module.exports = class QuickEnvironment extends OneContext {
  constructor(config) {
    super(config);
    this.mutants = {
      active: undefined,
      hitsLeft: 0,
      hits: new Float64Array(MOST_MUTANTS),
      coverageLeft: MOST_COVERAGE,
    };
    this.global.__mutants__ = this.mutants;
  }

  /** What each test has reached, how often, and how long it took. */
  ran = new Map();
  tests = new RepeatableTests();

  async handleTestEvent({ name, test, error }, state) {
    switch (name) {
      case 'run_start':
        this.atLoad = this.takeReached();
        this.inHooks = new Map();
        break;
      case 'test_start':
        for (const [id, hits] of this.takeReached()) this.inHooks.set(id, hits);
        this.startedAt = Date.now();
        this.mutants.coverageLeft = MOST_COVERAGE;
        break;
      case 'test_done':
        if (test.errors.length > 0) break;
        this.ran.set(test, { reached: this.takeReached(), ms: Date.now() - this.startedAt });
        break;
      case 'error':
        this.tests.noteUncaught(error);
        break;
      case 'run_finish':
        for (const [id, hits] of this.takeReached()) this.inHooks.set(id, hits);
        this.allowJest(state);
        await this.measure(JSON.parse(readFileSync(process.env.VIDEOGEN_MUTANTS_ORDER, 'utf8')));
        break;
    }
  }

  /** Between tests, nothing may use the object `jest`: it takes a start of a hook for the start of a test. */
  allowJest(state) {
    for (const handle of this.global[Symbol.for('EVENT_HANDLERS')])
      handle({ name: 'hook_start', hook: {} }, state);
  }

  takeReached() {
    const reached = new Map();
    this.mutants.hits.forEach((hits, id) => {
      if (hits > 0) reached.set(String(id), hits);
    });
    this.mutants.hits.fill(0);
    return reached;
  }

  async measure({ open, longestMs }) {
    this.longestMs = longestMs;
    this.mutants.coverageLeft = Number.POSITIVE_INFINITY;
    const reached = open.filter((id) => this.testsFor(id).length > 0);
    this.report({ reached, atLoad: open.filter((id) => this.atLoad.has(id)) });
    await this.dropUnrepeatable(reached);
    let isFresh = true;
    for (const id of reached) {
      this.report({ started: id });
      const { problem, isClean } = await this.run(id);
      if (isClean) this.report(problem === undefined ? { survived: id } : { killed: id, by: problem });
      // What an earlier mutant has left behind may be the cause: once more, in a new process.
      else this.report(isFresh ? { killed: id, by: problem, restart: true } : { unclear: id, restart: true });
      if (!isClean) return;
      isFresh = false;
    }
    this.report({ done: true });
  }

  /** The quickest tests that reach a mutant, the quickest first. */
  testsFor(id) {
    const all = [...this.ran].filter(([, { reached }]) => reached.has(id) || this.inHooks.has(id));
    let leftMs = this.longestMs;
    return all
      .sort(([, a], [, b]) => a.ms - b.ms)
      .filter(([, { ms }]) => {
        leftMs -= ms;
        return leftMs >= 0;
      })
      .map(([test]) => test);
  }

  /** A test that fails when it runs a second time says nothing about mutants. Slower ones take its place. */
  async dropUnrepeatable(reached) {
    const repeated = new Set();
    for (;;) {
      const needed = new Set(reached.flatMap((id) => this.testsFor(id)));
      const [test] = [...needed].filter((one) => !repeated.has(one));
      if (test === undefined) return;
      repeated.add(test);
      const problem = await this.tests.run(test, this.limitMs(test));
      if (problem === undefined) continue;
      this.ran.delete(test);
      this.report({ unrepeatable: test.name, problem });
    }
  }

  async run(id) {
    for (const test of this.testsFor(id)) {
      const problem = await this.runWith(id, test);
      if (problem === undefined) continue;
      const isClean = (await this.tests.run(test, this.limitMs(test))) === undefined;
      // Otherwise it fails by chance.
      if (isClean && (await this.runWith(id, test)) === undefined) continue;
      return { problem: `${test.name}${problem === NO_END ? ` (${NO_END})` : ''}`, isClean };
    }
    return { problem: undefined, isClean: true };
  }

  /** A mutant that a hook reaches is switched on before the hook runs, and off before it runs for others. */
  async runWith(id, test) {
    const isInHooks = this.inHooks.has(id);
    if (isInHooks) await this.tests.close(LIMIT.atLeastMs);
    const hits = Math.max(this.ran.get(test).reached.get(id) ?? 0, this.inHooks.get(id) ?? 0);
    this.mutants.hitsLeft = HITS.atLeast + HITS.times * hits;
    this.mutants.active = id;
    const problem = await this.tests.run(test, this.limitMs(test));
    this.mutants.active = undefined;
    if (isInHooks) await this.tests.close(LIMIT.atLeastMs);
    return problem;
  }

  limitMs(test) {
    return LIMIT.atLeastMs + LIMIT.times * this.ran.get(test).ms;
  }

  report(line) {
    appendFileSync(process.env.VIDEOGEN_MUTANTS_REPORT, `${JSON.stringify(line)}\n`);
  }
};
