/** Somebody left while another process was waited for. */
export class LeftWaiting extends Error {
  override readonly name = 'LeftWaiting';

  constructor(folder: string, holder: { pid: number } | undefined) {
    const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
    super(`Left before anything was started: ${who} still holds ${folder}.`);
  }
}
