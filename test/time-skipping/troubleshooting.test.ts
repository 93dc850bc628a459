import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { run } from '../../src/cli/run';
import { FAILURES, type FailureType, isFailureType } from '../../src/contract/failure-table';
import type { JobInput } from '../../src/contract/job';
import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { prometheusMetrics } from '../../src/worker/worker-monitor';
import { FakeTerminal } from '../cli/fake-terminal';
import { captureLogs, type LogLine } from '../support/logs';
import { readMetrics } from '../support/read-metrics';
import { failureOf, inWorld, pause, type World, type WorldOptions } from '../support/world';

const PAGE = readFileSync(join(__dirname, '../../docs/troubleshooting.md'), 'utf8');
const TYPES = Object.keys(FAILURES).filter(isFailureType);
const request = { prompt: 'A red fox in the snow' };
const MANY = 30;
const times = <T>(fault: T) => Array.from({ length: MANY }, () => fault);

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs(prometheusMetrics(`127.0.0.1:${await freePort()}`));
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** How each failure comes about: the world of the job, what happens to it, and its input. */
interface Cause {
  world?: WorldOptions;
  faults?(world: World): unknown;
  input?: JobInput;
  /** Done while the job runs. */
  meanwhile?(world: World, workflowId: string): Promise<void>;
}

const CAUSES: Record<FailureType, Cause> = {
  InvalidRequest: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' }),
  },
  Unauthorized: {
    faults: ({ emulator }) =>
      emulator.next('submit', { kind: 'refused', status: 401, message: 'no such key' }),
  },
  RateLimited: {
    faults: ({ emulator }) => emulator.next('submit', ...times({ kind: 'rate-limited' } as const)),
    input: { request, deadline: '1m' },
  },
  ServiceFailed: {
    faults: ({ emulator }) => emulator.next('submit', ...times({ kind: 'server-error' } as const)),
    input: { request, deadline: '1m' },
  },
  ServiceUnreachable: { faults: ({ emulator }) => emulator.close(), input: { request, deadline: '1m' } },
  AnswerUnreadable: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused', status: 404, message: 'no page' }),
  },
  SubmitUnconfirmed: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'reset' }),
    input: { request, onLostSubmit: 'hold', holdFor: '1h' },
  },
  TaskUnknown: { input: { taskId: 'task_of_somebody_else' } },
  GenerationFailed: {
    faults: ({ emulator }) =>
      emulator.next('status', { kind: 'failed-task', code: 'foxes', message: 'too many foxes' }),
  },
  ContentRefused: {
    faults: ({ emulator }) => emulator.next('submit', { kind: 'refused-content', stage: 'output' }),
  },
  GenerationCancelled: {
    faults: ({ emulator }) => emulator.next('status', { kind: 'unknown-state', word: 'cancelled' }),
  },
  NoVideo: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) => emulator.next('status', ...times({ kind: 'no-video' } as const)),
    input: { request, deadline: '5m' },
  },
  VideoUnavailable: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) =>
      emulator.next('download', ...times({ kind: 'refused', status: 403, message: 'expired' } as const)),
  },
  VideoCorrupt: {
    world: { jobTimeMs: 0 },
    faults: ({ emulator }) => emulator.next('download', ...times({ kind: 'web-page' } as const)),
  },
  VideoTooLarge: { world: { jobTimeMs: 0, largestVideoBytes: 1_000 } },
  StorageFailed: {
    world: { jobTimeMs: 0 },
    faults: ({ videos }) => videos.execute({ request, storage: 'fox.mp4' }),
    input: { request, storage: 'fox.mp4/inside-a-file.mp4' },
  },
  DeadlineExceeded: { world: { jobTimeMs: 3_600_000 }, input: { request, deadline: '2m' } },
  Unexpected: {
    world: {
      jobTimeMs: 0,
      wrapService: (service) => ({
        ...service,
        open: () => {
          throw new TypeError('a bug');
        },
      }),
    },
    input: { request, deadline: '1m' },
  },
  CapReached: { world: { caps: { day: { videos: 0 } } } },
  Cancelled: {
    world: { jobTimeMs: 3_600_000 },
    meanwhile: async ({ videos }, workflowId) => {
      await videos.handle(workflowId).taskId();
      await videos.handle(workflowId).cancel();
    },
  },
};

/** The places where a failure shows, as the rows of an entry of the page call them. */
const PLACES = ['`videogen status`', 'Temporal UI', 'Metrics', 'Log'] as const;
type Place = (typeof PLACES)[number];

/** What operators see of a job that fails so. */
async function provoke(type: FailureType): Promise<Record<Place, string>> {
  const { world: options = {}, faults, input = { request }, meanwhile } = CAUSES[type];
  return inWorld(env, options, async (world) => {
    const workflowId = `trouble-${type}`;
    await faults?.(world);
    const before = await readMetrics();
    const job = await world.videos.start(input, { workflowId });
    await meanwhile?.(world, workflowId);
    expect(await failureOf(job.result())).toMatchObject({ type });
    await untilLogged(workflowId);
    return {
      '`videogen status`': await statusOf(workflowId),
      'Temporal UI': await detailsOf(workflowId),
      Metrics: risenBetween(before, await readMetrics()).join('\n'),
      Log: linesOf(workflowId).join('\n'),
    };
  });
}

/** On a screen that is wide enough for every line. */
async function statusOf(workflowId: string): Promise<string> {
  const settings = { TEMPORAL_ADDRESS: env.temporal.address };
  const terminal = new FakeTerminal(settings, false, true);
  expect(await run(['status', workflowId], terminal)).toBe(0);
  return terminal.stdout;
}

async function detailsOf(workflowId: string): Promise<string> {
  const handle = env.temporal.client.workflow.getHandle(workflowId);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

const linesOf = (workflowId: string) =>
  logs
    .filter(({ meta }) => Object(meta).workflowId === workflowId && 'event' in Object(meta))
    .map(({ message, meta }) => `${message} ${inspect(meta, { breakLength: Number.POSITIVE_INFINITY })}`);

/** Log lines of workflows arrive late. */
async function untilLogged(workflowId: string): Promise<void> {
  while (!linesOf(workflowId).some((line) => /^(failed|cancelled) /.test(line))) await pause();
}

const risenBetween = (before: Map<string, number>, after: Map<string, number>) =>
  [...after].flatMap(([series, value]) => (value > (before.get(series) ?? 0) ? [series] : []));

/** What the page says that a place shows. */
function promisedAt(type: FailureType, place: Place): string[] {
  const entry = PAGE.split(new RegExp(`^## ${type}$`, 'm'))[1]?.split(/^## /m)[0] ?? '';
  const row = entry.split('\n').find((line) => line.startsWith(`| ${place} |`)) ?? '';
  return [...row.slice(place.length + 4).matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}

test.each(TYPES)('%s shows where its entry says', async (type) => {
  const seen = await provoke(type);
  for (const place of PLACES) {
    const promised = promisedAt(type, place);
    expect({ place, promised }).not.toEqual({ place, promised: [] });
    expect({
      place,
      shows: seen[place],
      missing: promised.filter((text) => !seen[place].includes(text)),
    }).toEqual({
      place,
      shows: seen[place],
      missing: [],
    });
  }
  expect(seen['`videogen status`']).toContain(FAILURES[type].advice);
});
