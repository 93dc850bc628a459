/** `videogen worker` in a process of its own, as it is deployed. */
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');

const COMMAND = join(__dirname, '../../dist/src/cli/main.js');

/** Resolves when it works: `{ pid, stop() }`. `emulator` is `{ url, apiKey }`. */
exports.startWorkerProcess = async ({ address, emulator, taskQueue, storage, env }) => {
  const { endWithParent } = require('../../dist/src/temporal-server/child-process');
  const child = spawn(process.execPath, [COMMAND, 'worker'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_OPTIONS: process.env.NODE_OPTIONS,
      // As in the image.
      MALLOC_ARENA_MAX: '2',
      TEMPORAL_ADDRESS: address,
      VIDEOGEN_TASK_QUEUE: taskQueue,
      VIDEOGEN_STORAGE: storage,
      VIDEO_API_BASE_URL: emulator.url,
      VIDEO_API_KEY: emulator.apiKey,
      ...env,
    },
  });
  endWithParent(child);
  child.stderr.setEncoding('utf8');
  let printed = '';
  await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => {
      printed = (printed + text).slice(-10_000);
      if (/Working on/.test(printed)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`The worker ended with ${code}: ${printed}`)));
  });
  return {
    pid: child.pid,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
};
