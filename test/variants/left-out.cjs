// Tests that cannot hold under a variant by nature. `test` is a part of the full name; without it the whole file is meant.
const OWN = 'sets keys and data converters itself';

/** @type {Record<string, { file: string; test?: string; reason: string }[]>} */
const LEFT_OUT = {
  codec: [{ file: 'test/real-server/encryption.test.ts', reason: OWN }],
  'no-cache': [],
  'host-converter': [{ file: 'test/real-server/encryption.test.ts', reason: OWN }],
  'external-storage': [{ file: 'test/real-server/encryption.test.ts', reason: OWN }],
};

/** The row for a test of a file, if the variant leaves it out. */
function leftOut(variant, file, test) {
  return (LEFT_OUT[variant] ?? []).find(
    (row) => row.file === file && (row.test === undefined || test.includes(row.test)),
  );
}

module.exports = { LEFT_OUT, leftOut };
