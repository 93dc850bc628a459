import type { Client } from '@temporalio/client';
import { readLedger } from '../client/read-ledger';
import { addTaken, type Caps, capRefusal, takenBy } from '../contract/caps';
import { accountsOf } from '../contract/ledger';
import type { VideoRequest } from '../contract/request';
import { VideoFailure } from '../contract/video-failure';
import { estimateCost, type Prices } from '../service';
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
    const accounts = accountsOf(caps, { caller });
    if (accounts.length === 0) return;
    const read = () => readLedger(client, taskQueue);
    const ledger = await withDeadline(client, read, LEDGER_WITHIN_MS).catch(() => undefined);
    const video = takenBy(estimateCost(pricesOf(service), request));
    for (const account of accounts) {
      const { scope, name } = account;
      const count = ledger?.counts.find((one) => one.scope === scope && one.name === name);
      const refused =
        count && capRefusal(account, addTaken(count.used, count.reserved), video, count.resetsAt);
      if (refused) throw new VideoFailure('CapReached', refused);
    }
  };
}
