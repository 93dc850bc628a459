// Runs one function of src/temporal-server in a process of its own: node run-server.cjs <function> <options as JSON>.
// It compiles the sources itself, because these tests run without a build.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync } = require('@swc/core');

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    module: { type: 'commonjs' },
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  });
  module._compile(code, filename);
};

const [name, options] = process.argv.slice(2);
const server = require(join(__dirname, '..', '..', 'src', 'temporal-server', 'index.ts'));
const onProgress = (line) => process.stderr.write(`${line}\n`);

server[name]({ ...JSON.parse(options), onProgress }).then(
  (result) => process.stdout.write(JSON.stringify(result)),
  (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);
