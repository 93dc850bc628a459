// The first step of `npm start`: compiles changed sources into dist without checking types, copies the files of the gateway's
// page and the profiles, and bundles the workflows when they have changed. For `npm run build`, --clean empties dist before tsc compiles
// everything, and --compiled copies and bundles then.
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { dirname, join } = require('node:path');
const { writeAtomically } = require('./write-atomically.cjs');

const ROOT = join(__dirname, '..');
const DIST = join(ROOT, 'dist');
/** The hashes of the sources that dist was made from. That of a file which is being compiled is empty. */
const RECORD = join(DIST, '.made-from.json');
const FOLDERS = ['src', 'workflows', 'activities'];
/** What is read as it is: the gateway's page and the built-in profiles. */
const COPIED = /^src\/(gateway\/page|service\/profiles)\//;
/** The sources in the bundle. Lint allows workflows to import nothing else. */
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

function readSources() {
  const files = FOLDERS.flatMap((folder) =>
    fs
      .readdirSync(join(ROOT, folder), { recursive: true })
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
      .filter((file) => file.endsWith('.ts') || COPIED.test(file)),
  );
  return Object.fromEntries(files.sort().map((file) => [file, fs.readFileSync(join(ROOT, file), 'utf8')]));
}

const hashesOf = (texts) =>
  Object.fromEntries(Object.entries(texts).map(([file, text]) => [file, hashOf(text)]));

const outputOf = (file) => join(DIST, file.replace(/\.ts$/, '.js'));

function copy(files, texts) {
  for (const file of files) {
    fs.mkdirSync(dirname(outputOf(file)), { recursive: true });
    writeAtomically(outputOf(file), texts[file]);
  }
}

/** Compiles the texts that were hashed, not the files, which may have been edited since. */
function compile(files, texts) {
  if (files.length === 0) return;
  const { transformSync } = require('@swc/core');
  for (const file of files) {
    const output = outputOf(file);
    const { code } = transformSync(texts[file], {
      filename: join(ROOT, file),
      swcrc: false,
      // Optional packages are imported when they are needed, and may be ES modules.
      module: { type: 'commonjs', ignoreDynamic: true },
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    });
    fs.mkdirSync(dirname(output), { recursive: true });
    writeAtomically(output, code);
  }
}

/**
 * Marks files in the record before they are compiled. Otherwise, if this process ends halfway and the sources are changed
 * back, the next start would take what it left for the output of the old sources.
 */
function markUnfinished(record, changed) {
  if (changed.length === 0) return;
  const sources = { ...record.sources, ...Object.fromEntries(changed.map((file) => [file, ''])) };
  const isBundled = changed.some((file) => BUNDLED.test(file));
  writeAtomically(RECORD, JSON.stringify({ sources, ...(!isBundled && { bundle: record.bundle }) }));
}

async function bundle(sources, before) {
  const { SDK_VERSIONS, findBundle } = require('../dist/src/worker/own-workflows');
  const script = fs.readFileSync(join(__dirname, 'bundle-workflows.cjs'));
  const bundled = Object.entries(sources).filter(([file]) => BUNDLED.test(file));
  const hash = hashOf(JSON.stringify([bundled, SDK_VERSIONS]), script);
  if (hash === before && findBundle() !== undefined) return hash;
  const { writeBundle } = require('./bundle-workflows.cjs');
  await writeBundle();
  return hash;
}

/** The hashes are taken before tsc reads the sources: one that is edited meanwhile is compiled at the next start. */
function clean() {
  fs.rmSync(DIST, { recursive: true, force: true });
  fs.mkdirSync(DIST);
  writeAtomically(RECORD, JSON.stringify({ sources: hashesOf(readSources()), forTsc: true }));
}

async function main() {
  if (process.argv.includes('--clean')) return clean();
  const before = readRecord();
  const sources = process.argv.includes('--compiled') ? compiledByTsc(before) : compileChanged(before);
  fs.chmodSync(join(DIST, 'src/cli/main.js'), 0o755);
  const bundleHash = await bundle(sources, before.bundle);
  const after = JSON.stringify({ sources, bundle: bundleHash });
  if (after !== JSON.stringify(before)) writeAtomically(RECORD, after);
}

/** The copied files, which tsc does not copy, and the hashes of what tsc compiled. */
function compiledByTsc(before) {
  const texts = readSources();
  copy(
    Object.keys(texts).filter((file) => COPIED.test(file)),
    texts,
  );
  return before.forTsc ? before.sources : hashesOf(texts);
}

function compileChanged(before) {
  const texts = readSources();
  const sources = hashesOf(texts);
  const isCurrent = (file) => before.sources[file] === sources[file] && fs.existsSync(outputOf(file));
  const changed = Object.keys(sources).filter((file) => !isCurrent(file));
  fs.mkdirSync(DIST, { recursive: true });
  markUnfinished(before, changed);
  const isCopied = (file) => COPIED.test(file);
  copy(changed.filter(isCopied), texts);
  compile(
    changed.filter((file) => !isCopied(file)),
    texts,
  );
  for (const removed of Object.keys(before.sources).filter((file) => !(file in sources)))
    fs.rmSync(outputOf(removed), { force: true });
  return sources;
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
