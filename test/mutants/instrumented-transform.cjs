const { createTransformer } = require('@swc/jest');
const { relative } = require('node:path');
const { projects } = require('../../jest.config.js');
const { ROOT, readJson } = require('./cache.cjs');
const { instrumentedSource } = require('./instrument.cjs');

const [, options] = projects[0].transform['\\.ts$'];
const swc = createTransformer(options);

/** Has jest load the sources of a half with their mutants. */
module.exports = {
  createTransformer({ half }) {
    const only = process.env.VIDEOGEN_MUTANTS_ORDER && readJson(process.env.VIDEOGEN_MUTANTS_ORDER).sources;
    const mutated = (source, path) =>
      (only === undefined || only.includes(relative(ROOT, path))
        ? instrumentedSource(half, path)
        : undefined) ?? source;
    return {
      process: (source, path, ...rest) => swc.process(mutated(source, path), path, ...rest),
      getCacheKey: (source, path, ...rest) => swc.getCacheKey(mutated(source, path), path, ...rest),
    };
  },
};
