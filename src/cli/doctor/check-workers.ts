import { resolveQueues } from '../../config/queues';
import { describeDuration } from '../../contract';
import { submitQueueOf } from '../../contract/names';
import { type Check, type Finding, failed, ok, warning } from './check';
import type { TemporalServer } from './find-temporal';
import { withinCall } from './reach-server';

/** Temporal's numbers for the types of a task queue. */
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

/** A worker polls at least once a minute, and stays listed for five. */
const STALE_AFTER_MS = 90_000;

/** A worker that polls a task queue. */
export interface Poller {
  identity: string;
  lastPolledMs: number;
}

export interface Pollers {
  queue: string;
  workflows: readonly Poller[];
  activities: readonly Poller[];
  submits: readonly Poller[];
  /** Set if downloads have a queue of their own. */
  downloads?: { queue: string; pollers: readonly Poller[] };
}

export const checkWorkers: Check = {
  name: 'workers',
  needs: ['temporal', 'namespace'],
  async run({ env, temporal }) {
    const server = await temporal();
    const { taskQueue: queue, submitQueue, downloadQueue } = resolveQueues({}, env);
    if (!('connection' in server)) return ok('generate starts its own');
    const [workflows, activities, submits, downloaders] = await Promise.all([
      pollersOf(server, queue, 'workflows'),
      pollersOf(server, queue, 'activities'),
      pollersOf(server, submitQueue, 'activities'),
      pollersOf(server, downloadQueue, 'activities'),
    ]);
    const downloads = downloadQueue === queue ? undefined : { queue: downloadQueue, pollers: downloaders };
    const finding = judgePollers({ queue, workflows, activities, submits, downloads }, Date.now());
    if (server.kind === 'local' && finding.state !== 'ok') {
      return ok('generate uses those of the local stack, or starts its own');
    }
    return finding;
  },
};

export function judgePollers(pollers: Pollers, nowMs: number): Finding {
  const { queue, workflows, activities, submits, downloads } = pollers;
  const missing = [
    ...(workflows.length === 0 ? [`workflows of ${queue}`] : []),
    ...(activities.length === 0 ? [`activities of ${queue}`] : []),
    ...(submits.length === 0 ? [`submits of ${submitQueueOf(queue)}`] : []),
    ...(downloads?.pollers.length === 0 ? [`downloads of ${downloads.queue}`] : []),
  ];
  if (missing.length === 1 && submits.length === 0) {
    return failed(
      `no worker polls for the ${missing[0]}`,
      'Workers pause this during a rate limit, and log it. If none is running, start one with: videogen worker',
    );
  }
  if (missing.length === 1 && downloads?.pollers.length === 0) {
    return failed(
      `no worker polls for the ${missing[0]}`,
      'Start one with: videogen worker --only downloads',
    );
  }
  if (missing.length > 0) {
    return failed(`no worker polls for the ${missing.join(', the ')}`, 'Start one with: videogen worker');
  }
  const count = new Set(workflows.map(({ identity }) => identity)).size;
  const sincePollMs = Math.max(0, nowMs - Math.max(...workflows.map(({ lastPolledMs }) => lastPolledMs)));
  const found = `${count === 1 ? 'one' : count} on ${queue}, last polled ${describeDuration(sincePollMs)} ago`;
  return sincePollMs <= STALE_AFTER_MS
    ? ok(found)
    : warning(found, 'It may have been killed. If none is running, start one with: videogen worker');
}

async function pollersOf(
  { connection, namespace }: TemporalServer,
  name: string,
  type: keyof typeof QUEUE_TYPES,
): Promise<Poller[]> {
  const { pollers } = await withinCall(connection, () =>
    connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: QUEUE_TYPES[type],
    }),
  );
  return (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    lastPolledMs: Number(lastAccessTime?.seconds ?? 0) * 1_000,
  }));
}
