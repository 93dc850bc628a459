export interface Tried {
  readonly name: string;
  readonly reason: string;
}

/** No Temporal server is available. The message says what was tried, why each source failed, and how to fix it. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';

  constructor(
    summary: string,
    readonly tried: readonly Tried[],
    readonly fix: string,
  ) {
    super([summary, ...tried.map(({ name, reason }) => `  - ${name}: ${reason}`), fix].join('\n'));
  }
}
