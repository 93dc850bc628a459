import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { silenceLogs, Theatre } from './play';

/** Opens a theatre before the tests of a file and closes it after them. */
export function theatreOfFile(): () => Theatre {
  let env: VideoTestEnvironment;
  let theatre: Theatre;

  beforeAll(async () => {
    silenceLogs();
    env = await createVideoTestEnvironment();
    theatre = await Theatre.open(env);
  });

  afterAll(async () => {
    await theatre.close();
    await env.teardown();
  });

  return () => theatre;
}
