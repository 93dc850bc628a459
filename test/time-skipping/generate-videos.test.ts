import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import {
  type BatchProgress,
  type BatchResult,
  type ItemResult,
  parseResults,
  type VideoRequest,
} from '../../src/contract';
import { TASKS_PER_POLL } from '../../src/contract/policies';
import type { VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { expectRow } from '../support/expect-row';
import { activities, historiesOf, historyOf, unendedActivities } from '../support/history';
import { captureLogs } from '../support/logs';
import { atLength } from '../support/nightly';
import { fullHistories, shortHistories } from '../support/short-histories';
import { failureOf, inWorld, pause, quickWorkflows, untilProgress, type World } from '../support/world';

const MINUTE = 60_000;
const RARE_POLLS = { polling: { min: '30s', max: '30s' } };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

const requests = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));

const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

async function resultsOf({ results }: BatchResult): Promise<ItemResult[]> {
  return parseResults(await readFile(fileURLToPath(results.uri), 'utf8'));
}

const prompts = ({ emulator }: World) => emulator.generations().map(({ request }) => request.prompt);
const inPhase = (phase: string, count: number) => (progress: BatchProgress) =>
  progress.running.filter((item) => item.phase === phase).length === count;
const postsOf = ({ emulator }: World) => emulator.calls.filter(({ call }) => call === 'submit');

test('a batch stores a video for each request, lists its results by number, and runs no more at once than its window', async () => {
  await inWorld(env, { jobTimeMs: MINUTE, concurrentTasks: 2 }, async (world) => {
    const batch = await world.videos.startBatch(
      { requests: requests(5), window: 2, ...RARE_POLLS },
      { workflowId: 'foxes' },
    );
    const result = await batch.result();

    expect(result).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(result.results.key).toBe('batches/foxes/results.jsonl');
    const results = await resultsOf(result);
    expect(results).toEqual(
      [1, 2, 3, 4, 5].map((item) =>
        expect.objectContaining({
          item,
          name: `foxes-${item}`,
          outcome: 'succeeded',
          polls: expect.any(Number),
        }),
      ),
    );
    for (const [index, entry] of results.entries()) {
      if (entry.outcome !== 'succeeded') throw new Error(entry.message);
      const video = await readFile(join(world.storageFolder, `foxes-${index + 1}.mp4`));
      expect(video.equals(await world.emulator.video(entry.taskId))).toBe(true);
    }
    // The service refuses a third task at once.
    expect(postsOf(world)).toHaveLength(5);
    expect(prompts(world).sort()).toEqual(requests(5).map(({ prompt }) => prompt));
    expect(await batch.progress()).toEqual({ items: 5, succeeded: 5, failed: 0, running: [] });
  });
});

test('each task teaches the worker when the next one ends', async () => {
  const wrapService = (service: VideoService): VideoService => ({
    ...service,
    address: 'https://api.example.com/',
    // A percentage would say it already.
    poll: async (...args) => {
      const { task, ...reading } = await service.poll(...args);
      return { ...reading, task: 'percent' in task ? { ...task, percent: undefined } : task };
    },
  });
  await inWorld(env, { jobTimeMs: 3 * MINUTE, wrapService }, async ({ videos }) => {
    const batch = await videos.startBatch({ requests: requests(8), window: 1, deadline: '3h' });
    const results = await resultsOf(await batch.result());
    const found = results.map((item) => (item.outcome === 'succeeded' ? item : undefined));
    const lags = found.map((item) => (item?.waitedMs ?? 0) - 3 * MINUTE);
    expect(found[0]?.polls).toBeGreaterThan(15);
    expect(found[7]?.polls).toBeLessThan(12);
    for (const lagMs of lags) expect(lagMs).toBeLessThan(MINUTE / 4);
  });
});

test('all items share poll activities and workflow tasks', async () => {
  await inWorld(env, { jobTimeMs: 5 * MINUTE }, async ({ videos, emulator }) => {
    const batch = await videos.startBatch({
      requests: requests(20),
      // Long enough that items submitted seconds apart are still polled together.
      polling: { min: '30s', max: '30s' },
    });
    await batch.result();
    const history = await historyOf(env.temporal.client, batch.workflowId);
    const types = activities(history).map(({ type }) => type);
    const pollActivities = types.filter((type) => type === 'pollVideos').length;
    expect(types.filter((type) => type === 'submitVideo')).toHaveLength(20);
    expect(types).not.toContain('pollVideo');
    const polls = emulator.calls.filter(({ call }) => call === 'status').length - 20;
    expect(pollActivities).toBeLessThanOrEqual(polls / 10);
    // Separate workflows would have two for every poll: one for the timer, one for the answer.
    const tasks = (history.events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    expect(tasks.length).toBeLessThanOrEqual(polls / 2);
  });
});

test('a task without an answer in time is polled again at once, and keeps no other item from its answer', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async ({ videos, emulator }) => {
    const batch = await videos.startBatch({ requests: requests(3), polling: { min: '2h', max: '2h' } });
    const isWaiting = ({ phase }: { phase: string }) => phase === 'waiting';
    while ((await batch.progress()).running.filter(isWaiting).length < 3) await pause();
    emulator.next('status', { kind: 'hang' });
    await batch.pollNow();
    expect(await batch.result()).toMatchObject({ succeeded: 3 });
    const history = await historyOf(env.temporal.client, batch.workflowId);
    const made = activities(history).filter(({ type }) => type === 'pollVideos');
    expect(made.map(({ isLocal, summary }) => [isLocal ? 'local' : 'regular', summary])).toEqual([
      ['local', 'poll 3 tasks'],
      ['regular', 'poll one task'],
    ]);
  });
});

test('items whose polls fail for a bug end at their deadline, each with its task', async () => {
  const wrapService = (service: VideoService): VideoService => ({
    ...service,
    poll: () => {
      throw new TypeError('a bug');
    },
  });
  await inWorld(env, { jobTimeMs: 0, wrapService }, async (world) => {
    const batch = await world.videos.startBatch({ requests: requests(2), deadline: '30m', ...RARE_POLLS });
    const result = await batch.result();
    expect(result).toMatchObject({ succeeded: 0, failed: 2 });
    const ended = (await resultsOf(result)).map((item) =>
      item.outcome === 'failed' ? `${item.failure} ${item.details.taskId}` : item.outcome,
    );
    const paid = world.emulator.generations().map(({ taskId }) => `DeadlineExceeded ${taskId}`);
    expect(ended.sort()).toEqual(paid.sort());
  });
});

test('a batch that polls more tasks than one activity takes replays, although their local activities end one by one', async () => {
  const items = TASKS_PER_POLL + 2;
  await inWorld(env, { jobTimeMs: 0, videoBytes: 10_000 }, async ({ videos, emulator }) => {
    const batch = await videos.startBatch({
      requests: requests(items),
      window: items,
      polling: { min: '2h', max: '2h' },
      deadline: '10h',
    });
    while (!inPhase('waiting', items)(await batch.progress())) await pause();
    // One item polls again, so that a timer starts beside the downloads of the others.
    emulator.next('status', { kind: 'server-error' });
    await batch.pollNow();
    expect(await batch.result()).toMatchObject({ succeeded: items });
    const history = await historyOf(env.temporal.client, batch.workflowId);
    const polls = activities(history).filter(({ type }) => type === 'pollVideos');
    expect(polls.map(({ isLocal, summary }) => [isLocal, summary])).toEqual(
      expect.arrayContaining([
        [true, 'poll 50 tasks'],
        [true, 'poll 2 tasks'],
      ]),
    );
    await Worker.runReplayHistory(quickWorkflows(), history);
  });
});

test('a failed item is listed with its task and does not stop the rest; started again, only those are retried that failed for a fixable reason', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    const { videos, emulator } = world;
    emulator.next(
      'submit',
      { kind: 'failed-task', code: 'foxes', message: 'No foxes.' },
      { kind: 'refused', status: 402, message: 'No credit.' },
    );
    const start = () => videos.startBatch({ requests: requests(3), window: 1 }, { workflowId: 'poor-once' });
    const first = await (await start()).result();
    expect(first).toMatchObject({ items: 3, succeeded: 1, failed: 2 });
    const [failed, poor, fine] = await resultsOf(first);
    expect(failed).toMatchObject({
      item: 1,
      outcome: 'failed',
      failure: 'GenerationFailed',
      details: { code: 'foxes', message: 'No foxes.', taskId: emulator.generations()[0]?.taskId },
    });
    expect(poor).toMatchObject({ item: 2, outcome: 'failed', failure: 'Unauthorized' });
    expect(fine).toMatchObject({ item: 3, outcome: 'succeeded' });

    const second = await (await start()).result();
    expect(second).toMatchObject({ items: 3, succeeded: 2, failed: 1 });
    expect((await resultsOf(second)).map(({ outcome }) => outcome)).toEqual([
      'failed',
      'succeeded',
      'succeeded',
    ]);
    expect(prompts(world).sort()).toEqual(requests(3).map(({ prompt }) => prompt));
  });
});

test('with onFailure stop, running items finish, no more are started, and the failure says so; started again, the batch continues with the rest', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    emulator.next('submit', { kind: 'refused', status: 400, message: 'No foxes.' });
    const start = () =>
      videos.startBatch(
        { requests: requests(5), window: 3, onFailure: 'stop', ...RARE_POLLS },
        { workflowId: 'stopped' },
      );
    const failure = await failureOf((await start()).result());
    expectRow(failure, 'InvalidRequest', undefined);
    expect(String(failure)).toMatch(
      /No foxes; item \d failed and the batch stopped with 2 stored and 1 failed of 5, listed in file:/,
    );
    expect(emulator.generations()).toHaveLength(2);
    const results = parseResults(
      await readFile(join(storageFolder, 'batches/stopped/results.jsonl'), 'utf8'),
    );
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'succeeded', 'succeeded']);

    expect(await (await start()).result()).toMatchObject({ items: 5, succeeded: 4, failed: 1 });
    expect(postsOf(world)).toHaveLength(5);
  });
});

test('requests are read from a file in the storage, page by page, and that of a lost submit once more', async () => {
  await inWorld(env, { jobTimeMs: 0 }, async (world) => {
    // Two of them fill a page: an activity returns no more bytes at once.
    const lines = requests(5).map(({ prompt }) => ({ prompt: prompt.padEnd(90_000, '.') }));
    await createFileStorage(world.storageFolder).write(
      'in/foxes.jsonl',
      `\n${toLines(lines)}\n`,
      'text/plain',
    );
    world.emulator.next('submit', { kind: 'cut-headers' });
    const batch = await world.videos.startBatch({ requestsFrom: 'in/foxes.jsonl', window: 3 });
    // By then its page has made room for the next one.
    while ((await batch.progress()).running.length < 4) await pause();
    const lost = (await batch.progress()).running.find(({ phase }) => phase === 'needs-decision')?.item ?? 0;
    await batch.decideSubmit({ item: lost, decision: 'resubmit' });
    expect(await batch.result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    const sent = [...lines, lines[lost - 1]].map((line) => line?.prompt);
    expect(prompts(world).sort()).toEqual(sent.sort());
    const history = await historyOf(env.temporal.client, batch.workflowId);
    const pages = activities(history).filter(({ type }) => type === 'readRequests');
    expect(pages.length).toBeGreaterThan(2);
  });
});

test('a file with mistakes is refused with the numbers of the lines before anything is paid for', async () => {
  await inWorld(env, {}, async ({ videos, emulator, storageFolder }) => {
    const content = `${toLines(requests(2))}{"prompt":"x","duration":11}\nnot json\n`;
    await createFileStorage(storageFolder).write('in.jsonl', content, 'text/plain');
    const failure = await failureOf((await videos.startBatch({ requestsFrom: 'in.jsonl' })).result());
    expectRow(failure, 'InvalidRequest', undefined);
    expect(String(failure)).toMatch(
      /in\.jsonl: line 3: duration must be at most 10 \(was 11\); line 4: not a JSON object on one line/,
    );
    expect(emulator.calls).toEqual([]);
  });
});

test('a file that changes after the batch began fails the batch once the running items have ended', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ videos, emulator, storageFolder }) => {
    const storage = createFileStorage(storageFolder);
    const long = requests(3).map(({ prompt }) => ({ prompt: prompt.padEnd(150_000, '.') }));
    await storage.write('in.jsonl', toLines(long), 'text/plain');
    const batch = await videos.startBatch({ requestsFrom: 'in.jsonl', window: 1 });
    while (emulator.generations().length === 0) await pause();
    await storage.write('in.jsonl', toLines(requests(3)), 'text/plain');
    const failure = await failureOf(batch.result());
    expectRow(failure, 'InvalidRequest', undefined);
    expect(String(failure)).toContain('in.jsonl has changed since the batch began');
    expect(emulator.generations()).toHaveLength(1);
  });
});

test('a cancelled batch starts no more items and lists the paid tasks; started again, it adopts those and submits the rest', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const { videos, emulator, storageFolder } = world;
    const start = () =>
      videos.startBatch({ requests: requests(4), window: 2, ...RARE_POLLS }, { workflowId: 'given-up' });
    const first = await start();
    await untilProgress(first, inPhase('waiting', 2));
    await first.cancel();
    expectRow(await failureOf(first.result()), 'Cancelled', undefined);
    const paid = emulator.generations().map(({ taskId }) => taskId);
    expect(paid).toHaveLength(2);
    const listed = parseResults(
      await readFile(join(storageFolder, 'batches/given-up/results.jsonl'), 'utf8'),
    );
    expect(listed).toEqual(
      [1, 2].map((item) =>
        expect.objectContaining({
          item,
          outcome: 'failed',
          failure: 'Cancelled',
          details: { taskId: expect.stringMatching(/^task_/) },
        }),
      ),
    );

    const result = await (await start()).result();
    expect(result).toMatchObject({ items: 4, succeeded: 4, failed: 0 });
    expect(emulator.generations()).toHaveLength(4);
    const tasks = (await resultsOf(result)).map((entry) => entry.outcome === 'succeeded' && entry.taskId);
    expect(tasks.slice(0, 2).sort()).toEqual(paid.sort());
  });
});

test('an item whose submit is lost waits for a decision, frees its slot in the window, and is adopted by its number', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async ({ videos, emulator }) => {
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch({ requests: requests(3), window: 1 }, { workflowId: 'lost' });
    for (;;) {
      const { running } = await batch.progress();
      if (running.length === 2) {
        expect(running[0]).toMatchObject({ item: 1, name: 'lost-1', phase: 'needs-decision' });
        break;
      }
      await pause();
    }
    await expect(batch.decideSubmit({ item: 2, decision: 'resubmit' })).rejects.toThrow(
      'No decision is needed: the job is',
    );
    await expect(batch.decideSubmit({ item: 7, decision: 'resubmit' })).rejects.toThrow(
      'item 7 is not running',
    );
    await expect(videos.handle('lost').decideSubmit({ decision: 'resubmit' })).rejects.toThrow(
      'name the item of the batch',
    );
    const taskId = emulator.generations()[0]?.taskId ?? '';
    await batch.decideSubmit({ item: 1, decision: 'adopt', taskId });
    const result = await batch.result();
    expect(result).toMatchObject({ items: 3, succeeded: 3, failed: 0 });
    expect((await resultsOf(result))[0]).toMatchObject({ item: 1, taskId });
    expect(emulator.generations()).toHaveLength(3);
  });
});

test('a batch with a long history continues as new with its running and held items, and pays for nothing twice', async () => {
  const jobTimeMs = atLength(3, 160) * MINUTE;
  const worker = { workflowBundle: atLength(shortHistories, fullHistories)() };
  await inWorld(env, { jobTimeMs, worker }, async (world) => {
    const { videos, emulator } = world;
    emulator.next('submit', { kind: 'cut-body' });
    const batch = await videos.startBatch(
      { requests: requests(3), window: 2, deadline: '4h', polling: { min: '5s', max: '5s' } },
      { workflowId: 'long' },
    );
    while ((await batch.progress()).running.length < 3) await pause();
    const handle = env.temporal.client.workflow.getHandle('long');
    const { runId } = await handle.describe();
    const hold = (await batch.progress()).running.find(({ phase }) => phase === 'needs-decision')?.hold;
    const lost = (await batch.progress()).running.find(({ phase }) => phase === 'needs-decision')?.item ?? 0;
    await env.temporal.sleep(jobTimeMs - atLength(1, 5) * MINUTE);
    expect((await handle.describe()).runId).not.toBe(runId);
    const { running } = await batch.progress();
    expect(running.find(({ item }) => item === lost)).toMatchObject({ phase: 'needs-decision', hold });
    expect(running.filter(({ phase }) => phase === 'waiting')).toHaveLength(2);

    const taskId = emulator.generations()[0]?.taskId ?? '';
    await batch.decideSubmit({ item: lost, decision: 'adopt', taskId });
    const result = await batch.result();
    expect(result).toMatchObject({ items: 3, succeeded: 3, failed: 0 });
    expect((await resultsOf(result)).map(({ item }) => item)).toEqual([1, 2, 3]);
    expect(postsOf(world)).toHaveLength(3);
    // All three videos are ready at the poll after which the batch may continue as new.
    const histories = await historiesOf(env.temporal.client, 'long');
    expect(histories.length).toBeGreaterThan(2);
    expect(histories.flatMap(unendedActivities)).toEqual([]);
  });
}, 180_000);

test('a batch started again under its name resumes from its results, and other requests under it are refused', async () => {
  await inWorld(env, { jobTimeMs: MINUTE }, async (world) => {
    const startByType = (count: number): Promise<BatchResult> =>
      env.temporal.client.workflow.execute('generateVideos', {
        taskQueue: world.taskQueue,
        workflowId: 'plain',
        args: [{ requests: requests(count) }],
      });
    const first = await startByType(3);
    const results = await resultsOf(first);
    expect(await startByType(3)).toEqual(first);
    const failure = await failureOf(startByType(4));
    expect(failure).toMatchObject({ cause: { type: 'videogen.InvalidRequest' } });
    expect(String(Object(failure).cause)).toContain('the name was used for other requests');
    expect(await resultsOf(first)).toEqual(results);
    expect(postsOf(world)).toHaveLength(3);
  });
});

test('when every submit is lost, the batch submits at most two windows of items', async () => {
  await inWorld(env, {}, async (world) => {
    world.emulator.next('submit', ...Array.from({ length: 9 }, () => ({ kind: 'reset' }) as const));
    const batch = await world.videos.startBatch({ requests: requests(9), window: 2 });
    await untilProgress(batch, inPhase('needs-decision', 4));
    await env.temporal.sleep('1h');
    expect(await batch.progress()).toMatchObject({ running: { length: 4 } });
    expect(postsOf(world)).toHaveLength(4);
    await batch.cancel();
    await failureOf(batch.result());
  });
});

/** What the contract refuses is the same for the client and the workflow: test/contract/batch-input.test.ts. */
test.each([
  [{}, 'a batch needs either requests or requestsFrom, and not both'],
  [{ requests: [...requests(1), null] }, 'requests[1]: '],
])('a batch %j started without our client is refused with a sentence', async (input, sentence) => {
  await inWorld(env, {}, async ({ taskQueue, emulator }) => {
    const workflowId = `refused-${Math.random()}`;
    const running = env.temporal.client.workflow.execute('generateVideos', {
      taskQueue,
      workflowId,
      args: [input],
    });
    const failure = await failureOf(running);
    expect(failure).toMatchObject({ cause: { type: 'videogen.InvalidRequest' } });
    expect(String(Object(failure).cause)).toContain(sentence);
    expect(emulator.calls).toEqual([]);
  });
});

test('a batch stops at its cap, in the order of its items, and goes on from there under a higher one', async () => {
  await inWorld(env, { jobTimeMs: 0, caps: {} }, async (world) => {
    const start = (videos: number) =>
      world.videos.startBatch(
        { requests: requests(5), window: 1, cap: { videos }, ...RARE_POLLS },
        { workflowId: 'capped' },
      );
    const failure = await failureOf((await start(2)).result());
    expect(failure).toMatchObject({ type: 'CapReached', details: { cap: 'batch.videos', capLeft: 0 } });
    expect(String(failure)).toContain(
      'the cap of 2 videos for this batch is reached; item 3 failed and the batch stopped with 2 stored and 1 failed of 5',
    );
    expect(prompts(world)).toEqual(['Fox 1', 'Fox 2']);

    expect(await (await start(5)).result()).toMatchObject({ items: 5, succeeded: 5, failed: 0 });
    expect(postsOf(world)).toHaveLength(5);
  });
});
