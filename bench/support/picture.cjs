/** Draws a report as an SVG of bars. Each bar is a ratio to the row that has 1.00x, so that sections can be compared. */
const { labelOf, showRatio, showValue } = require('./values.cjs');

const WIDTH = 880;
const MARGIN = 20;
const NAMES = 280;
const BARS = 300;
const ROW = 24;
const BAR = 14;
const HEADING = 34;
const GAP = 18;
/** A longer bar is cut, so that the others can still be told apart. Its number is beside it. */
const LONGEST_RATIO = 5;

/** A background of its own: a page that is dark although the system is light must not hide the text. */
const STYLE = `
  .back { fill: #ffffff } .name, .value { fill: #1f2328 } .quiet { fill: #59636e } .bar { fill: #b6c2cf }
  .ours { fill: #0969da } .one { stroke: #59636e }
  text { font: 14px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif }
  .heading { font-weight: 600; font-size: 15px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .name, .value { fill: #f0f6fc } .quiet { fill: #9198a1 } .bar { fill: #3d444d }
    .ours { fill: #4493f8 } .one { stroke: #9198a1 }
  }`;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const text = (x, y, classes, content) =>
  `<text x="${x}" y="${y}" class="${classes}">${escaped(content)}</text>`;
const round = (value) => Math.round(value * 10) / 10;

const isDrawn = ({ ratio }) => Number.isFinite(ratio) && ratio >= 0;

/** The first two values, with labels where a number alone says too little. More would not fit. */
function firstValues({ values }) {
  const shown = Object.keys(values).map((key) => {
    const value = showValue(key, values[key]);
    return /[a-z%]/i.test(value) ? value : `${value} ${labelOf(key)}`;
  });
  return shown.slice(0, 2).join(', ');
}

function drawRow(row, y, scale) {
  const x = MARGIN + NAMES;
  const length = round(Math.max(1, Math.min(row.ratio, LONGEST_RATIO) * scale));
  const top = y + (ROW - BAR) / 2;
  const cut =
    row.ratio > LONGEST_RATIO
      ? `<path d="M${x + length - 14} ${top - 2}l6 ${BAR + 4}h4l-6 -${BAR + 4}z" class="back"/>`
      : '';
  const baseline = y + ROW / 2 + 5;
  return [
    text(MARGIN, baseline, 'name', row.name),
    `<rect x="${x}" y="${top}" width="${length}" height="${BAR}" rx="2" class="${row.ours ? 'ours' : 'bar'}"/>${cut}`,
    text(x + BARS + 12, baseline, 'value', showRatio(row.ratio)),
    text(x + BARS + 72, baseline, 'value', firstValues(row)),
  ].join('\n');
}

function drawSection(section, y) {
  const rows = section.rows.filter(isDrawn);
  const longest = Math.min(LONGEST_RATIO, Math.max(1, ...rows.map(({ ratio }) => ratio)));
  const scale = BARS / longest;
  const one = round(MARGIN + NAMES + scale);
  const bottom = y + HEADING + rows.length * ROW;
  const detail = [section.ratioOf, section.better && `${section.better} is better`]
    .filter(Boolean)
    .join('; ');
  return {
    bottom,
    lines: [
      text(MARGIN, y + 20, 'name heading', `(${section.section}) ${section.title}`),
      `<text x="${WIDTH - MARGIN}" y="${y + 20}" class="quiet" text-anchor="end">${escaped(detail)}</text>`,
      ...rows.map((row, at) => drawRow(row, y + HEADING + at * ROW, scale)),
      `<path d="M${one} ${y + HEADING - 2}V${bottom}" class="one" stroke-dasharray="2 3"/>`,
    ],
  };
}

exports.drawReport = ({ sections }) => {
  let bottom = MARGIN - GAP;
  const lines = [];
  for (const section of sections.filter(({ rows }) => rows.some(isDrawn))) {
    const drawn = drawSection(section, bottom + GAP);
    bottom = drawn.bottom;
    lines.push(...drawn.lines);
  }
  const height = bottom + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    '<title>Benchmarks: each bar is a ratio to the row with 1.00x</title>',
    `<style>${STYLE}\n</style>`,
    `<rect width="${WIDTH}" height="${height}" rx="6" class="back"/>`,
    ...lines,
    '</svg>\n',
  ].join('\n');
};
