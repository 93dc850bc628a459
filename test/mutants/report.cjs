// The scores of all mutants that were measured, and those that nothing has killed.
const { join } = require('node:path');
const { CACHE, ROOT, readJson, writeJson } = require('./cache.cjs');
const { readResults } = require('./results.cjs');

const FOLDERS = ['src/contract', 'src/service', 'src/storage', 'activities', 'workflows'];
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
      score: measured === 0 ? undefined : Math.round((killed / measured) * 1_000) / 10,
      static: count('static'),
    };
  });
  const survivors = mutants
    .filter(({ status }) => status === 'survived')
    .map((mutant) => ({ ...mutant, why: explained.find((one) => isSame(one, mutant))?.why }))
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  return { folders, survivors };
}

/** Explanations name no lines, which move. */
function isSame(explained, { file, original, replacement }) {
  return explained.file === file && explained.original === original && explained.replacement === replacement;
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

function describeFolder({ folder, measured, killed, score, static: statics }) {
  if (measured === 0) return `${folder}: nothing is measured`;
  const apart = statics > 0 ? `; ${statics} that act while a module loads are not measured` : '';
  return `${folder}: ${score} %, ${killed} of ${measured} killed${apart}`;
}

function report() {
  const made = makeReport();
  writeJson(REPORT, made);
  printReport(made);
}

module.exports = { report };
