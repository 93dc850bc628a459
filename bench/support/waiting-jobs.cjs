/** Jobs that wait for longer than a bench lasts. */
const { setTimeout: sleep } = require('node:timers/promises');

const STARTS_AT_A_TIME = 20;
const DAY = '24h';

/**
 * Starts jobs until the emulator has `count` tasks, or until `givesUpAt`. They poll `every` so often, which decides how long
 * they wait. Resolves with their number once all are submitted.
 */
exports.startWaitingJobs = async ({ videos, emulator }, count, { every, givesUpAt }) => {
  let started = emulator.generations().length;
  const startOne = async () => {
    while (started < count && Date.now() < givesUpAt) {
      const number = ++started;
      await videos.start({
        request: { prompt: `Fox ${number} runs through the snow`, resolution: '720p', duration: 5 },
        polling: { min: every, max: every },
        deadline: DAY,
        // Where the machine is slow, a submit may time out before it reaches the worker.
        onLostSubmit: 'resubmit',
      });
      // No more than the worker can submit meanwhile, so that the starts do not pile up at the server.
      while (started - emulator.generations().length > 2 * STARTS_AT_A_TIME) await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: STARTS_AT_A_TIME }, startOne));
  while (emulator.generations().length < started) await sleep(100);
  // The last submits are recorded in their workflows.
  await sleep(3_000);
  return started;
};
