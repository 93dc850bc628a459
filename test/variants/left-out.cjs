// Tests that cannot hold under a variant by nature. `test` is a part of the full name; without it the whole file is meant.
const RAW = 'reads payloads of a history as they are stored';

/** @type {Record<string, { file: string; test?: string; reason: string }[]>} */
const LEFT_OUT = {
  codec: [],
  'no-cache': [],
  'host-converter': [],
  'external-storage': [],
};

/** The row for a test of a file, if the variant leaves it out. */
function leftOut(variant, file, test) {
  return (LEFT_OUT[variant] ?? []).find(
    (row) => row.file === file && (row.test === undefined || test.includes(row.test)),
  );
}

module.exports = { LEFT_OUT, leftOut, RAW };
