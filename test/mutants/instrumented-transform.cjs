const { createTransformer } = require('@swc/jest');
const { projects } = require('../../jest.config.js');
const { instrumentedSource } = require('./instrument.cjs');

const [, options] = projects[0].transform['\\.ts$'];
const swc = createTransformer(options);

/** Has jest load the workflows with their mutants. */
module.exports = {
  process: (source, path, ...rest) => swc.process(instrumentedSource(path) ?? source, path, ...rest),
  getCacheKey: (source, path, ...rest) => swc.getCacheKey(instrumentedSource(path) ?? source, path, ...rest),
};
