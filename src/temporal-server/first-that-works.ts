import { ServerUnavailable, type Tried } from './server-unavailable';

/** One source of a server executable. `get` returns its path, or undefined if the source has none. */
export interface ServerSource {
  readonly name: string;
  get(): Promise<string | undefined>;
}

export interface MissingServer {
  readonly what: string;
  readonly fix: string;
  /** Ends the search; no further source is tried. */
  readonly signal?: AbortSignal | undefined;
}

/** The caller ended the search for a server. */
export class SearchStopped extends Error {
  override readonly name = 'SearchStopped';

  constructor(what: string) {
    super(`Stopped before the ${what} was ready. Nothing was started.`);
  }
}

/** Tries the sources in order. If none works, the error lists why each failed. */
export async function firstThatWorks(
  { what, fix, signal }: MissingServer,
  sources: readonly ServerSource[],
): Promise<string> {
  const tried: Tried[] = [];
  for (const { name, get } of sources) {
    try {
      const path = await get();
      if (path !== undefined) return path;
      tried.push({ name, reason: 'none' });
    } catch (error) {
      // If the path that the user configured is wrong, no other source is tried.
      if (error instanceof ServerUnavailable) throw error;
      if (signal?.aborted) throw new SearchStopped(what);
      tried.push({ name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  throw new ServerUnavailable(`No ${what} could be found, downloaded or built.`, tried, fix);
}
