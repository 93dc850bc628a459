import { resolveWorkerQueues } from '../../config/queues';
import { readKnownServices } from '../../config/services-config';
import { describeDuration } from '../../contract/duration';
import { serviceQueueOf, submitQueueOf } from '../../contract/names';
import { type Poller, pollersOf } from '../pollers';
import { type Check, type Finding, failed, ok, warning } from './check';

/** A worker polls at least once a minute, and stays listed for five. */
const STALE_AFTER_MS = 90_000;

export interface Pollers {
  queue: string;
  workflows: readonly Poller[];
  activities: readonly Poller[];
  submits: readonly Poller[];
  /** Those of the submits to each service of the file. */
  ofServices?: readonly { queue: string; pollers: readonly Poller[] }[];
  /** Set if downloads have a queue of their own. */
  downloads?: { queue: string; pollers: readonly Poller[] };
}

export const checkWorkers: Check = {
  name: 'workers',
  needs: ['temporal', 'namespace'],
  async run({ env, temporal }) {
    const server = await temporal();
    const { taskQueue: queue, submitQueue, downloadQueue } = resolveWorkerQueues({}, env);
    if (!('connection' in server)) return ok('generate starts its own');
    const names = Object.keys(readKnownServices(env)?.services ?? {});
    const ofServices = await Promise.all(
      names.map(async (name) => {
        const own = serviceQueueOf(submitQueue, name);
        return { queue: own, pollers: await pollersOf(server, own, 'activities') };
      }),
    );
    const [workflows, activities, submits, downloaders] = await Promise.all([
      pollersOf(server, queue, 'workflows'),
      pollersOf(server, queue, 'activities'),
      pollersOf(server, submitQueue, 'activities'),
      pollersOf(server, downloadQueue, 'activities'),
    ]);
    const downloads = downloadQueue === queue ? undefined : { queue: downloadQueue, pollers: downloaders };
    const finding = judgePollers(
      { queue, workflows, activities, submits, ofServices, downloads },
      Date.now(),
    );
    if (server.kind === 'local' && finding.state !== 'ok') {
      return ok('generate uses those of the local stack, or starts its own');
    }
    return finding;
  },
};

export function judgePollers(pollers: Pollers, nowMs: number): Finding {
  const { queue, workflows, activities, submits, ofServices = [], downloads } = pollers;
  const unserved = ofServices.filter(({ pollers: polled }) => polled.length === 0);
  const missing = [
    ...(workflows.length === 0 ? [`workflows of ${queue}`] : []),
    ...(activities.length === 0 ? [`activities of ${queue}`] : []),
    ...(submits.length === 0 ? [`submits of ${submitQueueOf(queue)}`] : []),
    ...(downloads?.pollers.length === 0 ? [`downloads of ${downloads.queue}`] : []),
  ];
  if (missing.length === 1 && submits.length === 0) {
    return warning(
      `no worker polls for the ${missing[0]}`,
      'A worker with the plugin serves the jobs of its own client and of child workflows; jobs of videogen generate would wait. Other workers pause this during a rate limit, and log it. If you need one, start it with: videogen worker',
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
  if (unserved.length > 0) {
    return warning(
      `no worker polls for the submits of ${unserved.map(({ queue: own }) => own).join(', ')}`,
      'Give the workers the same VIDEOGEN_SERVICES_FILE and start them again. Workers also pause this during a rate limit, and log it.',
    );
  }
  const count = new Set(workflows.map(({ identity }) => identity)).size;
  const sincePollMs = Math.max(0, nowMs - Math.max(...workflows.map(({ lastPolledMs }) => lastPolledMs)));
  const found = `${count === 1 ? 'one' : count} on ${queue}, last polled ${describeDuration(sincePollMs)} ago`;
  return sincePollMs <= STALE_AFTER_MS
    ? ok(found)
    : warning(found, 'It may have been killed. If none is running, start one with: videogen worker');
}
