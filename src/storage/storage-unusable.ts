import { StorageFault, type StorageFaultOptions } from './storage';

/** The storage does not take, keep or give back what is stored there. Found by a probe, before anything is paid for. */
export class StorageUnusable extends StorageFault {
  override readonly name = 'StorageUnusable';

  constructor(
    readonly place: string,
    readonly problem: string,
    readonly fix: string,
    options?: StorageFaultOptions,
  ) {
    super(`The storage ${place} cannot be used: ${problem.replace(/\.$/, '')}. ${fix}`, options);
  }
}
