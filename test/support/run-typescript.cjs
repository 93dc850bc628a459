// Lets a Node process that is started with --require run the TypeScript sources. Compiled files are cached by their
// content, because loading the compiler takes longer than everything else.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const CACHE = join(__dirname, '../../node_modules/.cache/videogen-tests/typescript');

function compile(source, filename) {
  const name = createHash('sha256').update(source).digest('hex');
  const cached = join(CACHE, `${name}.js`);
  try {
    return readFileSync(cached, 'utf8');
  } catch {
    const { code } = require('@swc/core').transformSync(source, {
      filename,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    });
    mkdirSync(CACHE, { recursive: true, mode: 0o700 });
    // Renamed into place, because another process may be reading it.
    writeFileSync(`${cached}.${process.pid}`, code);
    renameSync(`${cached}.${process.pid}`, cached);
    return code;
  }
}

require.extensions['.ts'] = (module, filename) =>
  module._compile(compile(readFileSync(filename, 'utf8'), filename), filename);
