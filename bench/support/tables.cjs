/** The tables of a report: for the terminal, and in Markdown for the page. */
const { labelOf, showRatio, showValue } = require('./values.cjs');

/** The columns of a section: its values in the order in which its rows first have them. */
const keysOf = ({ rows }) => [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];

/** A section as lines of cells, the titles first. */
function cellsOf(section) {
  const keys = keysOf(section);
  const hasRatios = section.rows.some(({ ratio }) => ratio !== undefined);
  const titles = ['', ...keys.map(labelOf), ...(hasRatios ? ['ratio'] : [])];
  const rows = section.rows.map(({ name, values, ratio }) => [
    name,
    ...keys.map((key) => showValue(key, values[key])),
    ...(hasRatios ? [showRatio(ratio)] : []),
  ]);
  return [titles, ...rows];
}

const headingOf = ({ section, title }) => `(${section}) ${title}`;

/** What the ratios are of, and which are good. */
const describeRatio = ({ ratioOf, better }) =>
  [ratioOf && `Ratio: ${ratioOf}`, better && `${better} is better`].filter(Boolean).join('; ');

const notesOf = (section) => [describeRatio(section), ...section.notes].filter(Boolean);

exports.terminalTable = (section) => {
  const lines = cellsOf(section);
  const widths = lines[0].map((_, at) => Math.max(...lines.map((cells) => cells[at].length)));
  const write = (cells) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join('  ');
  return [
    headingOf(section),
    ...lines.map((cells) => `  ${write(cells)}`.trimEnd()),
    ...notesOf(section).map((note) => `  ${note}`),
  ].join('\n');
};

const escaped = (cell) => cell.replaceAll('|', '\\|');

/** The table of a section, and its notes below. */
exports.markdownRows = (section) => {
  const [titles, ...rows] = cellsOf(section).map((cells) => cells.map(escaped));
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = line(titles.map((_, at) => (at === 0 ? '---' : '---:')));
  const notes = notesOf(section).map((note) => (note.endsWith('.') ? note : `${note}.`));
  return [line(titles), rule, ...rows.map(line), '', notes.join(' ')].join('\n').trimEnd();
};

exports.markdownTable = (section) => `### ${headingOf(section)}\n\n${exports.markdownRows(section)}`;

/** One sentence about the machine and the versions. */
exports.describeRun = ({ measuredOn, machine, versions, seconds }) => {
  const { cores, memoryGib, cpu, system } = machine;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const took = Math.round(seconds / 60);
  return (
    `Measured on ${measuredOn} in one run of ${took < 1 ? 'less than a minute' : `${took} min`}: ${cores} cores (${cpu}, ${system}), ${memoryGib} GiB of memory; ` +
    `${named.join(', ')}.`
  );
};
