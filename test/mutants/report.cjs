// The scores of all mutants that were measured, and those that nothing has killed.
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { CACHE, ROOT, readJson, writeJson } = require('./cache.cjs');
const { readResults, readTotals } = require('./results.cjs');

const FOLDERS = ['src/contract', 'src/service', 'src/storage', 'activities', 'workflows'];
const PAGE = join(ROOT, 'docs/proof.md');
const REPORT = join(CACHE, 'report.json');

/** Why a mutant that nothing kills is as good as the original, or not worth a test. */
function readExplained() {
  return readJson(join(__dirname, 'explained.json'), []);
}

function makeReport() {
  const explained = readExplained();
  const mutants = Object.entries(readResults()).flatMap(([file, { mutants: of }]) =>
    Object.values(of).map((mutant) => ({ file, ...mutant })),
  );
  const survivors = mutants
    .filter(({ status }) => status === 'survived')
    .map((mutant) => ({ ...mutant, why: explained.find((one) => isSame(one, mutant))?.why }))
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  const totals = Object.entries(readTotals());
  const folders = FOLDERS.map((folder) => {
    const own = mutants.filter(({ file }) => file.startsWith(`${folder}/`));
    const count = (status) => own.filter((mutant) => mutant.status === status).length;
    const killed = count('killed') + count('timed out');
    const measured = killed + count('survived');
    return {
      folder,
      files: new Set(own.map(({ file }) => file)).size,
      measured,
      killed,
      // Those that are not measured to the end may survive.
      score:
        measured === 0 ? undefined : Math.round((killed / (measured + count('unfinished'))) * 1_000) / 10,
      explained: survivors.filter(({ file, why }) => why !== undefined && file.startsWith(`${folder}/`))
        .length,
      static: count('static'),
      unfinished: count('unfinished'),
      unknown: totals
        .filter(([file]) => file.startsWith(`${folder}/`))
        .reduce((sum, [, mutants]) => sum + mutants, -own.length),
    };
  });
  return { folders, survivors };
}

/** Explanations name no lines, which move, but may quote theirs: `true` alone stands in many places. */
function isSame(explained, { file, line, original, replacement }) {
  return (
    explained.file === file &&
    explained.original === original &&
    explained.replacement === replacement &&
    (explained.in === undefined || linesOf(file)[line - 1]?.includes(explained.in) === true)
  );
}

function linesOf(file) {
  return readFileSync(join(ROOT, file), 'utf8').split('\n');
}

function printReport(report) {
  const lines = [
    ...report.survivors.flatMap(describeSurvivor),
    '',
    ...report.folders.map(describeFolder),
    '',
    `The whole report: ${REPORT.slice(ROOT.length + 1)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function describeSurvivor({ file, line, original, replacement, by, why }) {
  return [
    `${file}:${line}${by ? ` (${by})` : ''}`,
    `  - ${original}`,
    `  + ${replacement}`,
    ...(why ? [`  explained: ${why}`] : []),
  ];
}

function describeFolder({
  folder,
  measured,
  killed,
  explained,
  score,
  static: statics,
  unfinished,
  unknown,
}) {
  if (measured === 0) return `${folder}: nothing is measured`;
  const parts = [
    `${folder}: ${unfinished > 0 ? 'at least ' : ''}${score} %, ${killed} of ${measured} killed`,
    explained > 0 && `${explained} of the others explained`,
    statics > 0 && `${statics} that act while a module loads are not measured`,
    unfinished > 0 && `${unfinished} not measured to the end`,
    unknown > 0 && `a sample: ${unknown} more were not chosen`,
  ];
  return parts.filter(Boolean).join('; ');
}

/** Renews the scores on the page. */
function writePage({ folders, survivors }, { only, sample, seed }) {
  const rows = folders.map((row) =>
    [
      code(row.folder),
      row.files,
      row.measured,
      row.killed,
      row.score === undefined ? 'not measured' : `${row.score} %`,
      row.explained,
      row.static,
      row.unknown,
    ].join(' | '),
  );
  const unfinished = folders.reduce((sum, folder) => sum + folder.unfinished, 0);
  const explained = survivors.filter(({ why }) => why !== undefined);
  const how =
    sample === undefined ? '' : `, of \`${only ?? 'workflows'}\` a sample of ${sample} with the seed ${seed}`;
  const lines = [
    `Measured on ${new Date().toISOString().slice(0, 10)}${how}. ${survivors.length} survived, of which ${explained.length} are explained in \`test/mutants/explained.json\`.${unfinished === 0 ? '' : ` Not measured to the end, and counted as survivors in the scores: ${unfinished}.`}`,
    '',
    '| Folder | Files | Measured | Killed | Score | Survived and explained | Act while a module loads | Not in the sample |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map((row) => `| ${row} |`),
  ];
  const page = readFileSync(PAGE, 'utf8');
  const [start, end] = ['<!-- mutants -->', '<!-- /mutants -->'].map((mark) => page.indexOf(mark));
  writeFileSync(PAGE, `${page.slice(0, start)}<!-- mutants -->\n${lines.join('\n')}\n${page.slice(end)}`);
}

function report(options) {
  const made = makeReport();
  writeJson(REPORT, made);
  printReport(made);
  if (options.page) writePage(made, options);
}

module.exports = { report };
