/**
 * The workflows of a host and ours in one module. The bundler resolves the first path, which ends in `index`, to
 * the host's own module; see `bundleWithHost` in own-workflows.ts. CommonJS, because the names of the exports are known only when that module has run.
 *
 * The host keeps all its exports, also a `default` that answers for every other name. Of ours only the workflows are added,
 * so that the host's messages may have the names of ours.
 */
const host: Record<string, unknown> = require('../../workflows/index');
const ours: Record<string, unknown> = require('../../workflows');

const workflows = Object.entries(ours).filter(([, exported]) => typeof exported === 'function');
for (const [name, own] of workflows) {
  if (typeof host[name] === 'function' && host[name] !== own) {
    const message = `Your worker and temporal-videogen both have the workflow ${name}: rename or remove your own.`;
    throw Object.assign(new Error(message), { name: 'WorkflowNameTaken' });
  }
}

module.exports = { ...host, ...Object.fromEntries(workflows) };
