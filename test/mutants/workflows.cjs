// Mutants of workflows/. Stryker cannot look into Temporal's sandbox, so its instrumenter makes the mutants, and the
// model and the tests of the workflows judge them here.
const { fork } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { BUNDLES, bundleWithMutants } = require('./bundle.cjs');
const { CACHE, ROOT, readJson, sha256, writeJson } = require('./cache.cjs');
const { instrument } = require('./instrument.cjs');
const { killGroup } = require('./kill-group.cjs');
const { addResults, choose, isKilled, keyOf, noteTotals, readResults } = require('./results.cjs');
const { sideBySide } = require('./side-by-side.cjs');
const { failWith, readTests } = require('./tests-of-workflows.cjs');

/** The scripts of the model, made with the same seed in each run. */
const SCRIPTS = { seed: 7, drawn: 150 };
/** Most mutants fail one of the first scripts that reach them. */
const GROUPS = [4, 20, 60];
/** A mutant may be slower than the workflow itself, and the machine may have more to do than when that was measured. */
const LIMIT = { atLeastMs: 20_000, times: 8 };

/** Measures mutants and adds the results to those of earlier runs. */
async function measureWorkflows({ only, sample, seed, again, log }) {
  const mutants = await instrument('workflows');
  noteTotals(mutants);
  await bundleWithMutants();
  const known = readResults();
  const chosen = choose(
    mutants.filter(({ file }) => file.startsWith(only ?? 'workflows/')),
    { sample, seed },
  );
  const open = chosen
    .map((mutant) => ({ ...mutant, ...(again ? {} : known[mutant.file]?.mutants[keyOf(mutant)]) }))
    .filter((mutant) => !isKilled(mutant));
  log(`${mutants.length} mutants in workflows/, ${chosen.length} chosen, ${open.length} to measure`);
  if (open.length === 0) return;
  const players = [new Player(), new Player()];
  try {
    const reach = { reached: await readReached(players[0], log), tests: await readTests(log, players) };
    await sideBySide(players, open, async (player, mutant, left) => {
      const result = await measure(player, reach, mutant);
      addResults([result]);
      const by = result.by ? ` (${result.by})` : '';
      log(`${left} left: ${result.status} ${describe(result)}${by}`);
    });
  } finally {
    for (const player of players) player.end();
  }
}

/** What a survivor was tried with in an earlier run is not tried again. */
async function measure(player, { reached, tests }, { id, status, by, tried = {}, ...mutant }) {
  const groups = groupsFor(reached, id);
  if (groups.length > 0 && tried.model !== reached.of) {
    const { problem } = await player.play({ mutant: id, groups });
    if (problem === 'no end') return { ...mutant, status: 'timed out', by: 'the model' };
    if (problem !== undefined) return { ...mutant, status: 'killed', by: `the model: ${problem}` };
  }
  const untried = tests.filter(({ file, of }) => tried[file] !== of);
  const { failed, tried: added } = await failWith(untried, id);
  if (failed !== undefined) {
    return { ...mutant, status: failed === 'no end' ? 'timed out' : 'killed', by: failed };
  }
  return {
    ...mutant,
    status: 'survived',
    by: whyNot(groups, tests, id),
    tried: { ...tried, model: reached.of, ...added },
  };
}

function whyNot(groups, tests, id) {
  const isReached = tests.some(({ reached }) => reached.includes(id));
  if (groups.length > 0) return undefined;
  return isReached ? 'the model does not reach it' : 'nothing reaches it';
}

function groupsFor(reached, id) {
  const scripts = reached.byScript.flatMap((ids, script) => (ids.includes(id) ? [script] : []));
  let from = 0;
  return GROUPS.flatMap((size) => {
    const group = scripts.slice(from, from + size);
    from += size;
    const limitMs = LIMIT.atLeastMs + LIMIT.times * group.length * reached.msEach;
    return group.length === 0 ? [] : [{ scripts: group, limitMs }];
  });
}

/** Which mutants each script reaches, measured once for the same workflows, scripts and model. */
async function readReached(player, log) {
  const path = join(CACHE, 'reached.json');
  const of = sha256(`${JSON.stringify([SCRIPTS, GROUPS])}${readFileSync(BUNDLES.model, 'utf8')}`);
  const known = readJson(path, {});
  if (known.of === of) return { of, ...known.reached };
  log('which scripts reach which mutants');
  const { cases } = await player.started;
  const all = Array.from({ length: SCRIPTS.drawn + cases }, (_, index) => index);
  const groups = [{ scripts: all, limitMs: 600_000 }];
  const { problem, tookMs, reached } = await player.play({ groups });
  if (problem !== undefined) throw new Error(`The model fails without any mutant: ${problem}`);
  const byScript = all.map((script) => reached[script] ?? []);
  const result = { byScript, msEach: tookMs[0] / all.length };
  writeJson(path, { of, reached: result });
  return { of, ...result };
}

/** The process that plays scripts, replaced whenever one of its mutants does not end. */
class Player {
  constructor() {
    this.start();
  }

  start() {
    const { seed, drawn } = SCRIPTS;
    this.child = fork(join(__dirname, 'player.cjs'), [BUNDLES.model, seed, drawn], {
      cwd: ROOT,
      // A group of its own, so that Temporal's server ends with it.
      detached: true,
      execArgv: [],
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('exit', (code) => resolve({ problem: `the player ended with ${code}`, isStuck: true }));
    });
    // Who plays hears of it.
    this.ended.catch(() => undefined);
    this.started = this.answer();
  }

  async play(order) {
    await this.started;
    const answer = this.answer();
    this.child.send(order);
    const played = await answer;
    if (played.isStuck) {
      this.end();
      this.start();
    }
    return played;
  }

  answer() {
    return Promise.race([new Promise((resolve) => this.child.once('message', resolve)), this.ended]);
  }

  end() {
    killGroup(this.child);
  }
}

function describe({ file, line, original, replacement }) {
  return `${file}:${line} ${shortened(original)} -> ${shortened(replacement)}`;
}

function shortened(code) {
  return code.length > 80 ? `${code.slice(0, 77)}...` : code;
}

module.exports = { measureWorkflows };
