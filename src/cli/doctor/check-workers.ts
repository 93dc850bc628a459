import { resolveQueues } from '../../config/queues';
import { describeDuration } from '../../contract';
import { submitQueueOf } from '../../contract/names';
import { type Check, type Finding, ok, warning, wrong } from './check';
import type { TemporalServer } from './find-temporal';
import { withinCall } from './reach-server';

/** As Temporal counts the kinds of a task queue. */
const KINDS = { workflows: 1, activities: 2 } as const;

/** A worker asks again after a minute at most, and stays listed for five. */
const SILENT_AFTER_MS = 90_000;

/** Somebody who asks for the tasks of a queue. */
export interface Poller {
  identity: string;
  lastAskedMs: number;
}

export interface Pollers {
  queue: string;
  workflows: readonly Poller[];
  activities: readonly Poller[];
  submits: readonly Poller[];
  /** Where they have a queue of their own. */
  downloads?: { queue: string; pollers: readonly Poller[] };
}

export const checkWorkers: Check = {
  name: 'workers',
  needs: ['temporal', 'namespace'],
  async run({ env, temporal }) {
    const place = await temporal();
    const { taskQueue: queue, submitQueue, downloadQueue } = resolveQueues({}, env);
    if (!('connection' in place)) return ok('generate brings its own');
    const [workflows, activities, submits, downloaders] = await Promise.all([
      pollersOf(place, queue, 'workflows'),
      pollersOf(place, queue, 'activities'),
      pollersOf(place, submitQueue, 'activities'),
      pollersOf(place, downloadQueue, 'activities'),
    ]);
    const downloads = downloadQueue === queue ? undefined : { queue: downloadQueue, pollers: downloaders };
    const finding = judgePollers({ queue, workflows, activities, submits, downloads }, Date.now());
    if (place.kind === 'local' && finding.state !== 'ok') {
      return ok('generate uses those of the local stack, or brings its own');
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
    return wrong(
      `no worker asks for the ${missing[0]}`,
      'A worker that waits out a rate limit does not: its log says so. Else start one with: videogen worker',
    );
  }
  if (missing.length === 1 && downloads?.pollers.length === 0) {
    return wrong(`no worker asks for the ${missing[0]}`, 'Start one with: videogen worker --only downloads');
  }
  if (missing.length > 0) {
    return wrong(`no worker asks for the ${missing.join(', the ')}`, 'Start one with: videogen worker');
  }
  const count = new Set(workflows.map(({ identity }) => identity)).size;
  const silentMs = Math.max(0, nowMs - Math.max(...workflows.map(({ lastAskedMs }) => lastAskedMs)));
  const found = `${count === 1 ? 'one' : count} on ${queue}, asked for work ${describeDuration(silentMs)} ago`;
  return silentMs <= SILENT_AFTER_MS
    ? ok(found)
    : warning(found, 'It may have been killed. If none is left, start one with: videogen worker');
}

async function pollersOf(
  { connection, namespace }: TemporalServer,
  name: string,
  kind: keyof typeof KINDS,
): Promise<Poller[]> {
  const { pollers } = await withinCall(connection, () =>
    connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: KINDS[kind],
    }),
  );
  return (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    lastAskedMs: Number(lastAccessTime?.seconds ?? 0) * 1_000,
  }));
}
