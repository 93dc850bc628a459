import { activityInfo } from '@temporalio/activity';
import type { Caps } from '../src/contract/caps';
import type { TaskStatus } from '../src/contract/job';
import { mergeCosts } from '../src/contract/job-cost';
import { accountsOf } from '../src/contract/ledger';
import type { VideoStorage } from '../src/storage/storage';
import type { SubmitCaps } from './caps';
import type { PollVideoInput } from './poll-video';
import { openRecord, warnNotRecorded } from './record-task';

export interface SettleTaskDeps {
  storage: VideoStorage;
  caps: SubmitCaps;
  /** What the worker may make. */
  ofWorker: Caps;
}

/** Says what a task cost whose end a poll has found: to the caps, and to the record, for `videogen spend`. */
export function createSettleTask({ storage, caps, ofWorker }: SettleTaskDeps) {
  return async function settleTask(input: PollVideoInput, { state, charged }: TaskStatus): Promise<void> {
    const { taskId, service, record: id, sharedCap, caller } = input;
    const isAsked = charged !== undefined || accountsOf(ofWorker, input).length > 0;
    if (id === undefined || !isAsked) return;
    const record = openRecord(storage, id);
    try {
      const { task, openSends } = await record.read();
      if (task?.taskId !== taskId) return;
      // An adopted task is taken for that of the lost submit.
      const { send = openSends.at(-1)?.id, cost } = task;
      const madeVideo = state === 'succeeded';
      const ledgerQueue = activityInfo().taskQueue;
      const spent = charged?.amount === 0 && !madeVideo ? 'nothing' : (charged ?? 'estimate');
      // Not awaited: the ledger runs on this queue too, and must not wait for the workflow task of a local poll.
      if (send !== undefined) void caps.settle({ sendId: send, sharedCap, caller, ledgerQueue }, spent);
      // The charge of a video goes into its own entry.
      if (!madeVideo && charged && cost?.charged === undefined)
        await record.add({ event: 'task', send, taskId, service, cost: mergeCosts(cost, { charged }) });
    } catch (error) {
      warnNotRecorded(record, error, taskId);
    }
  };
}
