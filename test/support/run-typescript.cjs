// Lets a Node process that is started with --require run the sources. What is translated once is kept by its content,
// because loading the translator takes longer than all the rest.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const CACHE = join(__dirname, '../../node_modules/.cache/videogen-tests/typescript');

function translate(source, filename) {
  const name = createHash('sha256').update(source).digest('hex');
  const kept = join(CACHE, `${name}.js`);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const { code } = require('@swc/core').transformSync(source, {
      filename,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    });
    mkdirSync(CACHE, { recursive: true, mode: 0o700 });
    // Another process may read it in this moment.
    writeFileSync(`${kept}.${process.pid}`, code);
    renameSync(`${kept}.${process.pid}`, kept);
    return code;
  }
}

require.extensions['.ts'] = (module, filename) =>
  module._compile(translate(readFileSync(filename, 'utf8'), filename), filename);
