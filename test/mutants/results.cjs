// What is known of each mutant. Results are added up over many runs, as one over everything takes a day.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { CACHE, ROOT, readJson, sha256, writeJson } = require('./cache.cjs');

const FILE = join(CACHE, 'results.json');

/** Results by source file. Those of a file that has changed since are dropped. */
function readResults() {
  const known = readJson(FILE, {});
  return Object.fromEntries(
    Object.entries(known).filter(([file, { sha256: measured }]) => measured === hashOf(file)),
  );
}

/** Adds results, each `{ file, line, column, original, replacement, mutator, status, by? }`. */
function addResults(added) {
  const known = readResults();
  for (const { file, ...result } of added) {
    known[file] ??= { sha256: hashOf(file), mutants: {} };
    known[file].mutants[keyOf(result)] = result;
  }
  writeJson(FILE, known);
}

/** A seeded sample: those whose hash with the seed comes first. */
function choose(mutants, { sample, seed }) {
  if (sample === undefined) return mutants;
  const rank = (mutant) => sha256(`${seed} ${mutant.file} ${keyOf(mutant)}`);
  const ranked = mutants.map((mutant) => ({ mutant, rank: rank(mutant) }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, sample).map(({ mutant }) => mutant);
}

const TOTALS = join(CACHE, 'totals.json');

/** Notes how many mutants each source file has, measured or not. */
function noteTotals(mutants) {
  const totals = readTotals();
  for (const { file } of mutants) totals[file] = 0;
  for (const { file } of mutants) totals[file] += 1;
  writeJson(TOTALS, totals);
}

function readTotals() {
  return readJson(TOTALS, {});
}

function isKilled({ status }) {
  return status === 'killed' || status === 'timed out';
}

function keyOf({ line, column, original, replacement }) {
  return `${line}:${column} ${original} -> ${replacement}`;
}

function hashOf(file) {
  try {
    return sha256(readFileSync(join(ROOT, file), 'utf8'));
  } catch {
    return undefined;
  }
}

/** The text between two positions whose lines and columns count from zero. */
function textAt(source, { start, end }) {
  const lines = source.split('\n').slice(start.line, end.line + 1);
  lines[lines.length - 1] = lines[lines.length - 1].slice(0, end.column);
  lines[0] = lines[0].slice(start.column);
  return oneLine(lines.join('\n'));
}

function oneLine(code) {
  return code.replace(/\s+/g, ' ').trim();
}

module.exports = {
  addResults,
  choose,
  hashOf,
  isKilled,
  keyOf,
  noteTotals,
  oneLine,
  readResults,
  readTotals,
  textAt,
};
