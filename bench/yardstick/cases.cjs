/**
 * What every contestant goes through: 14 faults of the service and 10 moments at which the program is killed. A moment is
 * decided by the calls that the service sees, so it is the same for all.
 */
const { createHash } = require('node:crypto');

/** `fault` is what the emulator does to one call; `share` is how much of the video it sends first. */
const FAULTS = [
  { name: 'submit: 429', call: 'submit', fault: () => ({ kind: 'rate-limited', retryAfter: 2 }) },
  { name: 'submit: 500', call: 'submit', fault: () => ({ kind: 'server-error' }) },
  { name: 'submit: answer lost by a reset', call: 'submit', fault: () => ({ kind: 'reset' }) },
  { name: 'submit: no answer', call: 'submit', fault: () => ({ kind: 'hang' }) },
  { name: 'submit: answer cut', call: 'submit', fault: () => ({ kind: 'cut-body' }) },
  { name: 'submit: answer is not JSON', call: 'submit', fault: () => ({ kind: 'bad-json' }) },
  { name: 'poll: 500', call: 'status', fault: () => ({ kind: 'server-error' }) },
  { name: 'poll: reset', call: 'status', fault: () => ({ kind: 'reset' }) },
  { name: 'poll: answer is not JSON', call: 'status', fault: () => ({ kind: 'bad-json' }) },
  { name: 'poll: unknown state', call: 'status', fault: () => ({ kind: 'unknown-state', word: 'brewing' }) },
  { name: 'poll: succeeded without a video', call: 'status', fault: () => ({ kind: 'no-video' }) },
  { name: 'download: cut', call: 'download', fault: (afterBytes) => ({ kind: 'cut', afterBytes }) },
  { name: 'download: stalls', call: 'download', fault: (afterBytes) => ({ kind: 'stall', afterBytes }) },
  { name: 'download: a web page', call: 'download', fault: () => ({ kind: 'web-page' }) },
];

/**
 * `when`: as the call arrives, which is then not passed on; once it was `done`, but not answered; after a part of its answer;
 * or after the whole answer. `ready` is the poll that says that the video is there.
 */
const KILLS = [
  { name: 'killed: POST on its way', call: 'submit', when: 'asked' },
  { name: 'killed: task made, no answer yet', call: 'submit', when: 'done' },
  { name: 'killed: half the answer', call: 'submit', when: 'part' },
  { name: 'killed: after the answer', call: 'submit', when: 'after', pause: true },
  { name: 'killed: poll on its way', call: 'status', when: 'asked' },
  { name: 'killed: between two polls', call: 'status', when: 'after', pause: true },
  { name: 'killed: told that it is ready', call: 'status', when: 'after', ready: true },
  { name: 'killed: download on its way', call: 'download', when: 'asked' },
  { name: 'killed: midway in the download', call: 'download', when: 'part' },
  { name: 'killed: after the last byte', call: 'download', when: 'after' },
];

/** Random numbers from 0 to below 1: the same text gives the same numbers. */
function randomsOf(text) {
  let count = 0;
  return () => createHash('sha256').update(`${text} ${count++}`).digest().readUInt32LE(0) / 2 ** 32;
}

/** All cases of a seed: it chooses what the names leave open. */
exports.casesOf = (seed) =>
  [...FAULTS, ...KILLS].map(({ fault, pause, ...row }) => {
    const random = randomsOf(`${seed} ${row.name}`);
    const between = (least, most) => least + Math.floor(random() * (most - least + 1));
    const runningPolls = between(2, 4);
    const videoBytes = between(200_000, 600_000);
    const share = 0.1 + 0.8 * random();
    return {
      ...row,
      seed,
      videoBytes,
      share,
      /** After this many polls that find the task running, it has its video. */
      runningPolls,
      /** Which call of its kind. */
      nth: row.call === 'status' ? between(1, runningPolls) : 1,
      pauseMs: pause ? between(200, 400) : 0,
      ...(fault && { fault: fault(Math.floor(share * videoBytes)) }),
    };
  });
