/**
 * Loads a package once per process. Jest loads every package again for every test file; the descriptions of Temporal's
 * messages alone take a fifth of a second. Only for packages that throw no errors and check no types by instanceof: their
 * classes are not those of the test's own realm.
 */
module.exports = globalThis.requireOnce('@temporalio/proto');
