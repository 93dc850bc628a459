import type { Client } from '@temporalio/client';
import { readLedger } from '../client/read-ledger';
import { type Caps, capDetails, capOfKey, firstReached, limits, takenTogether } from '../contract/caps';
import { estimateCost, type Prices } from '../contract/prices';
import type { VideoRequest } from '../contract/request';
import { VideoFailure } from '../contract/video-failure';
import { withDeadline } from './temporal-deadline';

export interface CapGuardOptions {
  client: Client;
  /** Of the jobs, and so of their ledger. */
  taskQueue: string;
  caps: Caps;
  /** Of the profile of a service. */
  pricesOf(service: string | undefined): Prices | undefined;
}

/** A caller must not wait for it: the worker decides in any case. */
const LEDGER_WITHIN_MS = 1_000;

/** Throws CapReached for a request that the worker would refuse by now. */
export type CapGuard = (caller: string, request: VideoRequest, service?: string) => Promise<void>;

/**
 * Refuses what is beyond a cap of the day or of the key before a job starts. It is a courtesy, and it counts nothing: the
 * worker counts and decides, so a ledger that does not answer refuses nothing here. Without caps nothing is asked.
 */
export function guardCaps({ client, taskQueue, caps, pricesOf }: CapGuardOptions): CapGuard {
  return async (caller, request, service) => {
    const ofKey = { scope: 'key' as const, name: caller, cap: capOfKey(caps, caller) };
    const ofDay = { scope: 'day' as const, name: undefined, cap: caps.day };
    if (!limits(ofKey.cap) && !limits(ofDay.cap)) return;
    const read = () => readLedger(client, taskQueue);
    const ledger = await withDeadline(client, read, LEDGER_WITHIN_MS).catch(() => undefined);
    const estimate = estimateCost(pricesOf(service), request);
    const cost = 'cost' in estimate ? estimate.cost : undefined;
    for (const { scope, name, cap } of [ofKey, ofDay]) {
      const count = ledger?.counts.find((one) => one.scope === scope && one.name === name);
      if (!limits(cap) || count === undefined) continue;
      const taken = takenTogether(count.used, count.reserved);
      const reached = firstReached(cap, taken, { seconds: estimate.seconds, cost });
      if (reached === undefined) continue;
      const { resetsAt } = count;
      throw new VideoFailure('CapReached', capDetails({ scope, name, ...reached, resetsAt }));
    }
  };
}
