/** The ways to poll that bench/polls-cost.cjs compares: each polls one task until it has ended, and does nothing else. */
const {
  condition,
  defineQuery,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} = require('@temporalio/workflow');

const hasEnded = ({ state }) => state === 'succeeded';
const whenCancelled = { cancellationType: 'TRY_CANCEL' };

/** A timer, then one poll, until the task has ended. */
async function onTimer({ taskId, schedule }, poll) {
  let polls = 0;
  setHandler(defineQuery('polls'), () => polls);
  const startedAtMs = Date.now();
  for (;;) {
    await condition(() => false, schedule.afterMs(Date.now() - startedAtMs), {
      summary: `poll ${polls + 1}`,
    });
    polls += 1;
    if (hasEnded(await poll({ taskId }, `poll ${polls}`))) return polls;
  }
}

const withSchedule = (input) => ({
  ...input,
  schedule: { afterMs: (elapsedMs) => pauseMs(input, elapsedMs) },
});

/** The pause grows with the time waited: the same rule for all ways, so that they make equally many polls. */
function pauseMs({ minMs, maxMs }, elapsedMs) {
  return Math.min(Math.max(elapsedMs / 10, minMs), maxMs);
}

exports.pollByRegularActivity = (input) =>
  onTimer(withSchedule(input), ({ taskId }, summary) =>
    proxyActivities({
      startToCloseTimeout: '1m',
      heartbeatTimeout: '20s',
      ...whenCancelled,
      summary,
    }).pollVideo({
      taskId,
    }),
  );

exports.pollByLocalActivity = (input) =>
  onTimer(withSchedule(input), ({ taskId }, summary) =>
    proxyLocalActivities({ startToCloseTimeout: '1m', ...whenCancelled, summary }).pollVideo({ taskId }),
  );

/** Each activity polls up to five times. */
exports.pollSeveralTimes = async (input) => {
  let [polls, elapsedMs] = [0, 0];
  for (;;) {
    const { pollSeveral } = proxyActivities({
      startToCloseTimeout: '1h',
      heartbeatTimeout: '1m',
      ...whenCancelled,
    });
    const made = await pollSeveral({ ...input, elapsedMs, atMost: 5 });
    polls += made.polls;
    elapsedMs = made.elapsedMs;
    if (hasEnded(made.status)) return polls;
  }
};

/** One activity that heartbeats and polls until the task has ended. */
exports.pollInOneActivity = async (input) => {
  const { pollSeveral } = proxyActivities({
    startToCloseTimeout: '2h',
    heartbeatTimeout: '1m',
    ...whenCancelled,
  });
  const { polls } = await pollSeveral({ ...input, elapsedMs: 0, atMost: Number.MAX_SAFE_INTEGER });
  return polls;
};

/** One activity that fails while the task runs: each of Temporal's retries is a poll. */
exports.pollByRetries = async (input) => {
  const { pollOrFail } = proxyActivities({
    startToCloseTimeout: '1m',
    retry: { initialInterval: input.minMs, backoffCoefficient: 1 },
    ...whenCancelled,
  });
  return pollOrFail(input);
};
