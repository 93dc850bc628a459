import { localTaskQueue, resolveWorkerQueues, type WorkerQueueOptions } from '../../src/config/queues';
import type { Environment } from '../../src/config/service-config';
import { readSetting } from '../../src/config/settings';
import { refusal } from './refusal';

describe('VIDEOGEN_TASK_QUEUE', () => {
  it.each([
    [undefined, 'video-generation'],
    ['foxes', 'foxes'],
    [' foxes ', 'foxes'],
  ])('%j is the queue %j', (VIDEOGEN_TASK_QUEUE, queue) => {
    expect(readSetting('VIDEOGEN_TASK_QUEUE', { VIDEOGEN_TASK_QUEUE })).toBe(queue);
  });

  it.each(['', ' '])('%j is refused', (VIDEOGEN_TASK_QUEUE) => {
    expect(refusal(() => readSetting('VIDEOGEN_TASK_QUEUE', { VIDEOGEN_TASK_QUEUE }))).toMatch(
      /^VIDEOGEN_TASK_QUEUE is empty: /,
    );
  });
});

describe('VIDEOGEN_SUBMITS_PER_SECOND', () => {
  const read = (VIDEOGEN_SUBMITS_PER_SECOND?: string) =>
    resolveWorkerQueues({}, { VIDEOGEN_SUBMITS_PER_SECOND }).submitsPerSecond;

  it.each([
    [undefined, undefined],
    ['', undefined],
    ['2', 2],
    ['0.5', 0.5],
  ])('%j means %j', (given, perSecond) => {
    expect(read(given)).toBe(perSecond);
  });

  it.each(['0', '-1', 'many', 'Infinity', 'NaN'])('%j is refused', (given) => {
    expect(refusal(() => read(given))).toMatch(/give a number above 0/);
  });
});

describe('the queues of jobs, submits and downloads', () => {
  it.each<[WorkerQueueOptions, Environment, [string, string, string]]>([
    [{}, {}, ['video-generation', 'video-generation-submit', 'video-generation']],
    [{ taskQueue: 'q' }, { VIDEOGEN_TASK_QUEUE: 'other' }, ['q', 'q-submit', 'q']],
    [{ taskQueue: 'q' }, { VIDEOGEN_DOWNLOAD_QUEUE: ' d ' }, ['q', 'q-submit', 'd']],
    [{ taskQueue: 'q' }, { VIDEOGEN_DOWNLOAD_QUEUE: ' ' }, ['q', 'q-submit', 'q']],
    [{ taskQueue: 'q', downloadQueue: 'own' }, { VIDEOGEN_DOWNLOAD_QUEUE: 'd' }, ['q', 'q-submit', 'own']],
  ])('given %j and %j are %j', (options, env, [taskQueue, submitQueue, downloadQueue]) => {
    const queues = { taskQueue, submitQueue, downloadQueue };
    expect(resolveWorkerQueues(options, env)).toEqual({ ...queues, submitsPerSecond: undefined });
  });

  it('are refused if downloads have the queue of the submits', () => {
    expect(refusal(() => resolveWorkerQueues({ taskQueue: 'q', downloadQueue: 'q-submit' }, {}))).toBe(
      'VIDEOGEN_DOWNLOAD_QUEUE is "q-submit", the queue of the submits: name another queue.',
    );
  });
});

describe("the queue on this machine's own server", () => {
  const service = { VIDEO_API_BASE_URL: 'https://api.example.com', VIDEO_API_KEY: 'sk' };
  const storage = { VIDEOGEN_STORAGE: '/srv/videos' };

  it('differs by service and by storage, and by nothing else', () => {
    const environments = [storage, {}, { ...service, ...storage }, service];
    expect(new Set(environments.map(localTaskQueue)).size).toBe(environments.length);
    expect(localTaskQueue({ ...service, VIDEO_API_KEY: 'other' })).toBe(localTaskQueue(service));
  });

  it('begins alike for all storages of one service', () => {
    expect(localTaskQueue(storage)).toMatch(/^video-generation-emulator-[0-9a-f]{8}$/);
    const starts = [service, { ...service, ...storage }].map((env) => localTaskQueue(env).slice(0, -8));
    expect(new Set(starts).size).toBe(1);
    expect(starts[0]).toMatch(/^video-generation-[0-9a-f]{8}-$/);
  });
});
