import { ServerUnavailable, type Tried } from './server-unavailable';

/** One way of getting an engine: the path of an executable, or undefined when it has none. */
export interface Way {
  readonly name: string;
  get(): Promise<string | undefined>;
}

export interface Wanted {
  readonly what: string;
  readonly wayOut: string;
}

/** Walks the ways in order; a way that throws has its words kept for the error that ends a fruitless walk. */
export async function firstThatWorks(wanted: Wanted, ways: readonly Way[]): Promise<string> {
  const tried: Tried[] = [];
  for (const { name, get } of ways) {
    try {
      const path = await get();
      if (path !== undefined) return path;
      tried.push({ name, reason: 'none' });
    } catch (error) {
      // What the user named is not second-guessed: its error ends the walk.
      if (error instanceof ServerUnavailable) throw error;
      tried.push({ name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  throw new ServerUnavailable(`No ${wanted.what} could be found or made.`, tried, wanted.wayOut);
}
