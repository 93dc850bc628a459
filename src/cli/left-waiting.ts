/** Ctrl-C was pressed while the command waited for another process. */
export class LeftWaiting extends Error {
  override readonly name = 'LeftWaiting';

  constructor(folder: string, holder: { pid: number } | undefined) {
    const user = holder === undefined ? 'another process' : `process ${holder.pid}`;
    super(`Stopped before anything was started: ${user} still uses ${folder}.`);
  }
}
