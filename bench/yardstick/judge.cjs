/**
 * The bill of a job, from what the service was paid for and what lies in the folder. It does not ask the program, and
 * shares no code with any.
 */
const { createHash } = require('node:crypto');
const { existsSync, readFileSync } = require('node:fs');

/** `tasks` are those that the service made, each with the SHA-256 of its video; `file` is where the video should be. */
exports.billOf = ({ tasks, file }) => {
  const sha256 = existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : undefined;
  const isWhole = tasks.some((task) => task.sha256 === sha256);
  return {
    paid: tasks.length,
    delivered: isWhole ? 1 : 0,
    lost: tasks.length > 0 && !isWhole ? 1 : 0,
    paidTwice: Math.max(0, tasks.length - 1),
    corruptAccepted: sha256 !== undefined && !isWhole ? 1 : 0,
  };
};

/** The sum of several bills. */
exports.sumOf = (bills) => {
  const sum = { paid: 0, delivered: 0, lost: 0, paidTwice: 0, corruptAccepted: 0 };
  for (const bill of bills) for (const key of Object.keys(sum)) sum[key] += bill[key];
  return sum;
};
