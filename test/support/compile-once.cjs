const vm = require('node:vm');

/**
 * Jest compiles every module again for every test file, which takes a fifth of a file's time. V8 reads a module that it
 * has compiled once in this process from its own data instead.
 */
const compiled = new Map();
const { compileFunction } = vm;

vm.compileFunction = function compileOnce(code, params, options) {
  const known = compiled.get(options?.filename);
  // V8 itself compares only the lengths.
  if (known?.code === code) {
    return compileFunction(code, params, { ...options, cachedData: known.data });
  }
  const made = compileFunction(code, params, { ...options, produceCachedData: true });
  if (made.cachedData) compiled.set(options?.filename, { code, data: made.cachedData });
  return made;
};
