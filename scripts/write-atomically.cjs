const { renameSync, writeFileSync } = require('node:fs');

/** Renames the file into place, because another start or a worker may be reading it. */
function writeAtomically(file, text) {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, file);
}

module.exports = { writeAtomically };
