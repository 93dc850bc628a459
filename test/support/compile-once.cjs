const vm = require('node:vm');

/**
 * Jest compiles every module again for every test file. All files run in one context here, so the function that a module was
 * compiled to is called again for the next file.
 */
const compiled = new Map();
const { compileFunction } = vm;

vm.compileFunction = function compileOnce(code, parameters, { parsingContext, ...options }) {
  const known = compiled.get(options.filename);
  if (known?.code === code && known.parameters === String(parameters)) return known.run;
  const run = compileFunction(code, parameters, options);
  compiled.set(options.filename, { code, parameters: String(parameters), run });
  return run;
};
