const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');

const ROOT = join(__dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/videogen-tests/mutants');

function readJson(path, otherwise) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return otherwise;
    throw error;
  }
}

function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  // Renamed into place: a run that is stopped keeps what it has measured.
  writeFileSync(`${path}.new`, `${JSON.stringify(value, undefined, 2)}\n`);
  renameSync(`${path}.new`, path);
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

module.exports = { CACHE, ROOT, readJson, sha256, writeJson };
