const { instrumentedSource } = require('./instrument.cjs');

/** Has webpack read the workflows with their mutants. */
module.exports = function load(source) {
  return instrumentedSource('workflows', this.resourcePath) ?? source;
};
