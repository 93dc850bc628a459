import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { compare } from './compare';
import { silenceLogs, Theatre } from './play';
import type { Script } from './script';

/** Scripts that once failed, or that stand for what must never fail. */
const CASES: { name: string; script: Script }[] = [
  {
    name: 'all goes well',
    script: {
      start: 'request',
      deadlineMs: 600_000,
      holdForMs: 60_000,
      idempotencyKeys: 'ignored',
      cancelling: false,
      jobTimeMs: 40_000,
      taskEnds: 'succeeded',
      submits: [],
      polls: [],
      downloads: [],
      deeds: [],
      continues: true,
    },
  },
];

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

test.each(CASES)('the model allows what happens when $name', async ({ script }) => {
  const performances = await theatre.play([script]);
  expect(performances.flatMap(compare)).toEqual([]);
});
