const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { ROOT } = require('./cache.cjs');
const { killGroup } = require('./kill-group.cjs');

/** Runs one test file in a process of its own, with one of the configs beside this file. */
function startJest(config, file, { args = [], env }) {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const options = ['--config', join(__dirname, config), '-i', '--silent', '--watchman=false', ...args];
  const child = spawn(process.execPath, [jest, ...options, '--runTestsByPath', file], {
    cwd: ROOT,
    // A group of its own, so that what a test has started ends with it.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return {
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code }))),
    output: () => output,
    end: () => killGroup(child),
  };
}

module.exports = { startJest };
