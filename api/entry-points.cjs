const { join } = require('node:path');
const { name, exports: paths } = require('../package.json');

const ROOT = join(__dirname, '..');

/** The entry points of the package, read from `exports` in package.json, their only list. */
exports.ENTRY_POINTS = Object.entries(paths)
  .filter(([, target]) => target.endsWith('.js'))
  .map(([path, target]) => ({
    specifier: path.replace('.', name),
    reportFile: `${path === '.' ? 'index' : path.slice('./'.length)}.api.md`,
    declaration: join(ROOT, target.replace(/\.js$/, '.d.ts')),
    source: join(ROOT, target.replace(/^\.\/dist\/(.*)\.js$/, '$1.ts')),
  }));

/** The names that an API report lists as exported. */
exports.namesInReport = (report) => {
  const declared = report.matchAll(/^export (?:abstract )?(?:function|class|const|interface|type) (\w+)/gm);
  const listed = report.matchAll(/^export \{ (\w+) \}/gm);
  return [...new Set([...declared, ...listed].map(([, name]) => name))];
};
