/** Loaded before `videogen worker`: its worker keeps almost no workflow in memory, as with very many waiting jobs. */
const { Worker } = require('@temporalio/worker');

const create = Worker.create.bind(Worker);
/** Far fewer than are polled: each job has left the worker's memory before its next poll. */
Worker.create = (options) => create({ ...options, maxCachedWorkflows: 10 });
