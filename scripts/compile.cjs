// What `npm start` runs first: translates the sources that have changed into dist, without looking at types, and bundles the
// workflows when they have changed. With --compiled, tsc has translated everything already.
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { dirname, join } = require('node:path');

const ROOT = join(__dirname, '..');
const DIST = join(ROOT, 'dist');
/** The sources that dist was made from, by their hashes. */
const RECORD = join(DIST, '.made-from.json');
const FOLDERS = ['src', 'workflows', 'activities'];
/** What ends up in the bundle; lint holds the workflows to it. */
const BUNDLED = /^(workflows|src\/contract)\//;

const hashOf = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

function readRecord() {
  try {
    return JSON.parse(fs.readFileSync(RECORD, 'utf8'));
  } catch {
    return { sources: {} };
  }
}

function hashSources() {
  const files = FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(join(ROOT, folder), { recursive: true })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      .filter((file) => file.endsWith('.ts')),
  );
  return Object.fromEntries(files.sort().map((file) => [file, hashOf(fs.readFileSync(join(ROOT, file)))]));
}

const outputOf = (file) => join(DIST, file.replace(/\.ts$/, '.js'));

/** Another start may read the file in this moment. */
function writeWhole(file, text) {
  const temporary = `${file}.${process.pid}`;
  fs.writeFileSync(temporary, text);
  fs.renameSync(temporary, file);
}

function translate(files) {
  if (files.length === 0) return;
  const { transformSync } = require('@swc/core');
  for (const file of files) {
    const output = outputOf(file);
    const { code, map } = transformSync(fs.readFileSync(join(ROOT, file), 'utf8'), {
      filename: join(ROOT, file),
      sourceFileName: join('../'.repeat(file.split('/').length), file),
      sourceMaps: true,
      swcrc: false,
      // Optional packages are imported when they are needed, and may be ES modules.
      module: { type: 'commonjs', ignoreDynamic: true },
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    });
    fs.mkdirSync(dirname(output), { recursive: true });
    writeWhole(`${output}.map`, map);
    writeWhole(output, `${code}//# sourceMappingURL=${output.split('/').at(-1)}.map\n`);
  }
}

async function bundle(sources, before) {
  const { SDK_OF_BUNDLE, bundleFiles } = require('../dist/src/worker/own-workflows');
  const script = fs.readFileSync(join(__dirname, 'bundle-workflows.cjs'));
  const bundled = Object.entries(sources).filter(([file]) => BUNDLED.test(file));
  const hash = hashOf(JSON.stringify([bundled, SDK_OF_BUNDLE]), script);
  if (hash === before && Object.values(bundleFiles()).every((file) => fs.existsSync(file))) return hash;
  const { writeBundle } = require('./bundle-workflows.cjs');
  await writeBundle();
  return hash;
}

async function main() {
  const before = readRecord();
  const sources = hashSources();
  const isCurrent = (file) => before.sources[file] === sources[file] && fs.existsSync(outputOf(file));
  if (!process.argv.includes('--compiled'))
    translate(Object.keys(sources).filter((file) => !isCurrent(file)));
  for (const gone of Object.keys(before.sources).filter((file) => !(file in sources))) {
    for (const output of [outputOf(gone), `${outputOf(gone)}.map`]) fs.rmSync(output, { force: true });
  }
  fs.chmodSync(join(DIST, 'src/cli/main.js'), 0o755);
  const bundleHash = await bundle(sources, before.bundle);
  const after = JSON.stringify({ sources, bundle: bundleHash });
  if (after !== JSON.stringify(before)) writeWhole(RECORD, after);
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
