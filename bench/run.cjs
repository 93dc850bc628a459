/**
 * Measures everything in one run: `npm run bench`, about 20 min on 2 idle cores. Prints one table a section, with each row as
 * a ratio to its peers. `--only a,d` measures some sections, `--quick` takes small samples, `--json FILE` writes the report,
 * `--page` writes it into docs/performance.md with its picture, `--page --from FILE` does so without a run.
 */
const { spawn } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const { SECTIONS } = require('./sections.cjs');
const { describeMachine, sharedVersions } = require('./support/machine.cjs');
const { writePage } = require('./support/page.cjs');
const { describeRun, terminalTable } = require('./support/tables.cjs');

const printOut = (text) => process.stdout.write(text);
const say = (line) => process.stderr.write(`${line}\n`);

/** Each letter must name a section: a typo would silently measure less. */
function chosenSections(only) {
  if (only === undefined) return SECTIONS;
  const letters = only.split(',').map((letter) => letter.trim());
  const unknown = letters.find((letter) => !SECTIONS.some(({ section }) => section === letter));
  if (unknown !== undefined) {
    const known = SECTIONS.map(({ section }) => section).join(',');
    throw new Error(`There is no section ${JSON.stringify(unknown)}: give some of ${known}.`);
  }
  return SECTIONS.filter(({ section }) => letters.includes(section));
}

/** Runs a script in a process group of its own, so that servers which it started end with it at the limit. */
function runScript({ file, limitSeconds, full = {}, quick = {} }, { json, isQuick, scriptFolder }) {
  return new Promise((resolve, reject) => {
    const { args = [], env = {} } = isQuick ? quick : full;
    const child = spawn(process.execPath, [join(scriptFolder, file), '--json', json, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      detached: true,
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        printed = (printed + text).slice(-4_000);
      });
    }
    const endGroup = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // All its processes have ended.
      }
    };
    process.once('exit', endGroup);
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      endGroup();
    }, limitSeconds * 1_000);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(limit);
      process.off('exit', endGroup);
      endGroup();
      if (isLate) reject(new Error(`it took longer than ${limitSeconds} s.`));
      else if (code !== 0) reject(new Error(`it ended with code ${code}: ${printed.trim()}`));
      else resolve();
    });
  });
}

/** Joins what the scripts of one section measured: the first says what the ratios are of. */
function joinParts(section, parts, seconds) {
  const [{ title, ratioOf, ratioTo, better }] = parts;
  const rows = parts.flatMap((part) => part.rows);
  return {
    section,
    title,
    ...(ratioOf !== undefined && { ratioOf }),
    ...(better !== undefined && { better }),
    rows: ratioTo === undefined ? rows : withRatios(rows, ratioTo),
    notes: parts.flatMap((part) => part.notes ?? []),
    seconds: Math.round(seconds),
  };
}

/** `ratioTo` names the row and the value that the ratios of all rows are to: `{ row, value }`. */
function withRatios(rows, { row, value }) {
  const base = rows.find(({ name }) => name === row)?.values[value];
  return rows.map((each) => ({ ...each, ...(base && { ratio: each.values[value] / base }) }));
}

async function measureSection({ section, scripts }, { folder, ...options }) {
  const startedAt = performance.now();
  const parts = [];
  const skipped = [];
  for (const script of scripts) {
    const { file, limitSeconds, read = (measured) => measured } = script;
    if (!existsSync(join(options.scriptFolder, file))) {
      skipped.push({ section, why: `bench/${file} is not there.` });
      continue;
    }
    options.onProgress(`(${section}) bench/${file}, at most ${limitSeconds} s ...`);
    const json = join(folder, `${file}.json`);
    try {
      await runScript(script, { json, ...options });
      parts.push(read(JSON.parse(readFileSync(json, 'utf8'))));
    } catch (error) {
      skipped.push({ section, why: `bench/${file} failed: ${error.message}` });
    }
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const versions = Object.assign({}, ...parts.map((part) => part.versions));
  return { joined: parts.length > 0 ? joinParts(section, parts, seconds) : undefined, versions, skipped };
}

/** One section after the other; one that only counts things runs beside the section before it. */
function inTurns(sections) {
  const turns = [];
  for (const section of sections) {
    if (section.runsBeside && turns.length > 0) turns.at(-1).push(section);
    else turns.push([section]);
  }
  return turns;
}

/** Measures the sections in turn and prints each one's table as soon as it is there. */
async function measure(
  sections,
  { isQuick = false, scriptFolder = __dirname, print = printOut, onProgress = say } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-bench-'));
  const startedAt = performance.now();
  const report = {
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    versions: sharedVersions(),
    seconds: 0,
    sections: [],
    skipped: [],
  };
  try {
    for (const turn of inTurns(sections)) {
      const options = { folder, isQuick, scriptFolder, onProgress };
      const measured = await Promise.all(turn.map((section) => measureSection(section, options)));
      for (const { joined, versions, skipped } of measured) {
        Object.assign(report.versions, versions);
        report.skipped.push(...skipped);
        if (joined === undefined) continue;
        report.sections.push(joined);
        print(`${terminalTable(joined)}\n\n`);
      }
    }
    report.seconds = Math.round((performance.now() - startedAt) / 1_000);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean' },
      json: { type: 'string' },
      page: { type: 'boolean' },
      from: { type: 'string' },
    },
  });
  if (values.page && (values.only !== undefined || values.quick)) {
    throw new Error(
      'The page shows one whole run: leave out --only and --quick, or give a report with --from.',
    );
  }
  const report =
    values.from === undefined
      ? await measure(chosenSections(values.only), { isQuick: values.quick })
      : JSON.parse(readFileSync(values.from, 'utf8'));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  if (values.page) writePage(report);
  for (const { section, why } of report.skipped) say(`(${section}) was skipped: ${why}`);
  printOut(`${describeRun(report)}\n`);
  if (report.skipped.some(({ why }) => / failed: /.test(why))) process.exitCode = 1;
}

module.exports = { chosenSections, measure };
if (require.main === module) {
  // At the exit all that still measures is ended: two scripts may be running.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  main().catch((error) => {
    say(error.message);
    process.exitCode = 1;
  });
}
