export interface Tried {
  readonly name: string;
  readonly reason: string;
}

/** No Temporal could be had: says what was tried, why each did not work, and the shortest way out. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';

  constructor(
    summary: string,
    readonly tried: readonly Tried[],
    readonly wayOut: string,
  ) {
    super([summary, ...tried.map(({ name, reason }) => `  - ${name}: ${reason}`), wayOut].join('\n'));
  }
}
