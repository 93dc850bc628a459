/** How a measured value is labelled and written. The end of its key is its unit: `lagSeconds`, `idleMb`, `busyShare`. */
const UNITS = [
  ['MbPerSecond', (value) => `${short(value)} MB/s`],
  ['PerSecond', (value) => `${short(value)}/s`],
  ['Seconds', (value) => `${short(value)} s`],
  ['Ms', (value) => `${short(value)} ms`],
  ['Gb', (value) => `${short(value)} GB`],
  ['Mb', (value) => `${short(value)} MB`],
  ['Kb', (value) => `${short(value)} KB`],
  ['Bytes', (value) => `${short(value / 1_000)} KB`],
  ['Share', (value) => `${(100 * value).toFixed(1)} %`],
];

/** Three digits are all that a run repeats. */
function short(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value
    .toFixed(digits)
    .replace(/\.0+$/, '')
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

const unitOf = (key) => UNITS.find(([unit]) => key.endsWith(unit) && key !== unit);

/** `lagSeconds` is labelled "lag"; its unit is beside each value. */
exports.labelOf = (key) => {
  const [unit = ''] = unitOf(key) ?? [];
  const named = unit === '' ? key : key.slice(0, -unit.length);
  return named.replace(/([a-z\d])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);
};

exports.showValue = (key, value) => {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  const [, show = short] = unitOf(key) ?? [];
  return show(value);
};

exports.showRatio = (ratio) => (typeof ratio === 'number' ? `${ratio.toFixed(2)}x` : '');

exports.median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
};
