import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { Stalled, Theatre } from './play';

/**
 * A theatre with its server. Temporal's test server now and then stops skipping time, and then nothing on it ends. So work
 * that stalls is done once more on a new server: a job that never ends by its own fault stalls there as well.
 */
export class Playhouse {
  private constructor(
    private readonly code: string | undefined,
    private env: VideoTestEnvironment,
    private theatre: Theatre,
  ) {}

  static async open(code?: string): Promise<Playhouse> {
    const { env, theatre } = await openTheatre(code);
    return new Playhouse(code, env, theatre);
  }

  async on<T>(work: (theatre: Theatre) => Promise<T>): Promise<T> {
    try {
      return await work(this.theatre);
    } catch (error) {
      if (!(error instanceof Stalled)) throw error;
      // The check for what a test leaves open knows of it.
      Object.assign(globalThis, { serverHasStalled: true });
      process.stderr.write(`Once more on a new server: ${error.message}\n`);
      await this.renew();
      return work(this.theatre);
    }
  }

  /** Goes on with a new server. */
  async renew(): Promise<void> {
    await this.close();
    Object.assign(this, await openTheatre(this.code));
  }

  async close(): Promise<void> {
    await this.theatre.close();
    await this.env.teardown();
  }
}

async function openTheatre(code: string | undefined) {
  const env = await createVideoTestEnvironment();
  return { env, theatre: await Theatre.open(env, code === undefined ? {} : { code }) };
}
