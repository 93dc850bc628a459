// `npm run test:slow`: where the time of the last run of jest went. A number shows so many of each.
const { lastRun } = require('./last-run.cjs');

const most = Number(process.argv[2] ?? 15);
const files = lastRun();
const tests = files.flatMap(({ file, tests: own }) =>
  own.map(({ name, ms }) => ({ name: `${file}: ${name}`, ms })),
);

function show(title, timed) {
  const slowest = [...timed].sort((a, b) => b.ms - a.ms).slice(0, most);
  const lines = slowest.map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}`);
  process.stdout.write(`${title}\n${lines.join('\n')}\n`);
}

if (files.length === 0) {
  process.stdout.write('Nothing has run yet: npm test, or npx jest after npm run build.\n');
} else {
  const seconds = files.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
  show(
    `Slowest files of ${files.length}, ${seconds.toFixed(0)} s together:`,
    files.map(({ file, ms }) => ({ name: file, ms })),
  );
  const processorSeconds = files.reduce((sum, { processorMs = 0 }) => sum + processorMs, 0) / 1_000;
  show(
    `\nMost processor time, ${processorSeconds.toFixed(0)} s together:`,
    files.map(({ file, processorMs = 0 }) => ({ name: file, ms: processorMs })),
  );
  show(`\nSlowest tests of ${tests.length}:`, tests);
}
