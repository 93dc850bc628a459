// Loaded into every process of a run with `--require`. It changes the SDK as the variant says, whoever loads it, and hands
// itself on to child processes.
const { ChildProcess } = require('node:child_process');
const Module = require('node:module');
const { sep } = require('node:path');
const CHANGES = require('./changes.cjs');

const HANDED_ON = ['VIDEOGEN_TEST_VARIANT', 'VIDEOGEN_TEST_EXTERNAL', 'VIDEOGEN_TEST_BUNDLE', 'NODE_OPTIONS'];

const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function spawnInVariant(options) {
  const set = new Set((options.envPairs ?? []).map((pair) => pair.split('=', 1)[0]));
  const added = HANDED_ON.filter((name) => !set.has(name) && process.env[name] !== undefined);
  const envPairs = [...(options.envPairs ?? []), ...added.map((name) => `${name}=${process.env[name]}`)];
  return spawn.call(this, options.envPairs ? { ...options, envPairs } : options);
};

const { _load: load, _resolveFilename: resolve } = Module;
const changed = new Set();
Module._load = function loadInVariant(request, parent, isMain) {
  const exported = load.call(this, request, parent, isMain);
  if (!request.startsWith('.') && !request.includes('@temporalio')) return exported;
  let path;
  try {
    path = resolve.call(Module, request, parent, isMain);
  } catch {
    return exported;
  }
  for (const [end, change] of Object.entries(CHANGES)) {
    if (!path.endsWith(end.replaceAll('/', sep)) || changed.has(path)) continue;
    changed.add(path);
    change(exported);
  }
  return exported;
};
