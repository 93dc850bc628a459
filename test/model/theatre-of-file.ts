import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { Stalled, silenceLogs, Theatre } from './play';

type OnTheatre = <T>(work: (theatre: Theatre) => Promise<T>) => Promise<T>;

/**
 * Opens a theatre before the tests of a file and closes it after them. Temporal's test server now and then stops skipping
 * time, and then nothing on it ends. So work that stalls is done once more on a new server: a job that never ends by its own
 * fault stalls there as well.
 */
export function theatreOfFile(): OnTheatre {
  let env: VideoTestEnvironment;
  let theatre: Theatre;

  const open = async () => {
    env = await createVideoTestEnvironment();
    theatre = await Theatre.open(env);
  };
  const close = async () => {
    await theatre.close();
    await env.teardown();
  };

  beforeAll(async () => {
    silenceLogs();
    await open();
  });
  afterAll(close);

  return async (work) => {
    try {
      return await work(theatre);
    } catch (error) {
      if (!(error instanceof Stalled)) throw error;
      Object.assign(globalThis, { serverHasStalled: true });
      process.stderr.write(`Once more on a new server: ${error.message}\n`);
      await close();
      await open();
      return work(theatre);
    }
  };
}
