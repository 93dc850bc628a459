/** Writes a report into the page about performance and draws its picture; both can be made again from the stored report. */
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { drawReport } = require('./picture.cjs');
const { describeRun, markdownTable } = require('./tables.cjs');

const ROOT = join(__dirname, '../..');
const PAGE = join(ROOT, 'docs/performance.md');
const PICTURE = join(ROOT, 'docs/pictures/benchmarks.svg');
/** The report from which the page was written, so that a test can say whether the page's figures were edited by hand. */
exports.REPORT = join(ROOT, 'bench/report.json');

exports.drawReport = drawReport;

/** The part of the page that the command writes. */
exports.pageOf = (report) =>
  [
    describeRun(report),
    ...report.sections.map(markdownTable),
    ...report.skipped.map(({ section, why }) => `(${section}) was skipped: ${why}`),
  ].join('\n\n');

/** A page with a command's part replaced: what is between the markers of that name. */
exports.replacePart = (page, part, name = 'bench') => {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const [before, ...rest] = page.split(start);
  const [, ...after] = (rest[0] ?? '').split(end);
  if (rest.length !== 1 || after.length !== 1)
    throw new Error(`The page needs one ${start} before one ${end}.`);
  return `${before}${start}\n\n${part}\n\n${end}${after[0]}`;
};

exports.writePage = (report) => {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(PAGE, exports.replacePart(page, exports.pageOf(report)));
  writeFileSync(PICTURE, drawReport(report));
  writeFileSync(exports.REPORT, `${JSON.stringify(report, null, 2)}\n`);
};
