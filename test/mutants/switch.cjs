var active_9fa48, list_9fa48, seen_9fa48;

/** In Temporal's sandbox, a class of Node leads out to `process`. */
function process_9fa48() {
  return typeof AsyncLocalStorage === 'undefined'
    ? process
    : AsyncLocalStorage.constructor('return process')();
}

// biome-ignore lint/correctness/noUnusedVariables: the sources call it.
function stryMutAct_9fa48(id) {
  active_9fa48 ??= process_9fa48().env.VIDEOGEN_MUTANT ?? '';
  return active_9fa48 === id;
}

/** Lists what is reached, once for each test. */
// biome-ignore lint/correctness/noUnusedVariables: the sources call it.
function stryCov_9fa48(...ids) {
  list_9fa48 ??= process_9fa48().env.VIDEOGEN_REACHED ?? '';
  if (list_9fa48 === '') return;
  seen_9fa48 ??= new Set();
  for (const id of ids) {
    const key = `${globalThis.__test__} ${id}`;
    if (seen_9fa48.has(key)) continue;
    seen_9fa48.add(key);
    process_9fa48().getBuiltinModule('node:fs').appendFileSync(list_9fa48, `${id}\n`);
  }
}
