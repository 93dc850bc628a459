/** Why nothing is forgotten: the job runs, or does not exist, or its files are not in this storage. */
export class ForgetRefused extends Error {
  override readonly name: string = 'ForgetRefused';
}

/** Neither Temporal nor the storage has anything of that name. */
export class NothingToForget extends ForgetRefused {
  override readonly name = 'NothingToForget';
}

/** The storage failed before everything was removed. What finds the rest again is still there. */
export class ForgetStopped extends Error {
  override readonly name = 'ForgetStopped';
}
