import {
  type AnswerFault,
  type ChaosOptions,
  type EmulatedCall,
  FaultSource,
  faultsOn,
} from '../../src/testing/faults';
import { clock, FOX, fetchFile, start, TEXT, taskIdOf } from './service-client';

const KINDS: EmulatedCall[] = ['submit', 'status', 'download', 'cancel', 'retrieve'];

function drawFaults(options: ChaosOptions, call: EmulatedCall, count: number) {
  const faults = new FaultSource(options);
  return Array.from({ length: count }, () => faults.take(call));
}

describe('random faults', () => {
  it('are the same for the same seed alone, in whatever order the kinds of calls come', () => {
    const options = { rate: 0.5, seed: 'fox' };
    const [submits, polls] = [drawFaults(options, 'submit', 50), drawFaults(options, 'status', 50)];
    const both = new FaultSource(options);
    for (let i = 0; i < 50; i++)
      expect([both.take('status'), both.take('submit')]).toEqual([polls[i], submits[i]]);
    expect(drawFaults({ rate: 0.5, seed: 'snow' }, 'submit', 50)).not.toEqual(submits);
    expect(drawFaults({ rate: 0.5 }, 'submit', 50)).not.toEqual(drawFaults({ rate: 0.5 }, 'submit', 50));
  });

  it.each(KINDS)('for a %s are those in the list, which never end a task or take minutes', (call) => {
    const listed = faultsOn(call).flatMap(([, { fault, byChance }]) => (byChance ? [fault] : []));
    const drawn = drawFaults({ rate: 1, seed: 'fox' }, call, 2_000).map((fault) => JSON.stringify(fault));
    expect(new Set(drawn)).toEqual(new Set(listed.map((fault) => JSON.stringify(fault))));
    const kinds = listed.map(({ kind }) => kind);
    for (const kind of ['hang', 'no-video', 'failed-task', 'refused']) expect(kinds).not.toContain(kind);
  });
});

it('an emulator with chaos uses scripted faults before random ones', async () => {
  const { emulator, submit } = await start({ chaos: { rate: 1 } });
  emulator.next(
    'submit',
    { kind: 'refused', status: 418, message: 'tea' },
    { kind: 'refused', status: 409, message: 'no' },
  );
  expect([(await submit()).status, (await submit()).status]).toEqual([418, 409]);
  expect(emulator.scriptIsSpent()).toBe(true);
});

it('an emulator with chaos lets all three calls succeed in the end, with the whole video', async () => {
  const { emulator, submit, poll } = await start({ jobTimeMs: 0, chaos: { rate: 0.3, seed: 'fox' } });
  const untilItSucceeds = async <T>(attempt: () => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const result = await attempt().catch(() => undefined);
      if (result !== undefined) return result;
    }
  };
  const taskId = await untilItSucceeds(async () => taskIdOf(await submit()));
  const link = await untilItSucceeds<string>(async () =>
    Reflect.get(Object((await poll(taskId)).body), 'video_url'),
  );
  const video = await untilItSucceeds(async () => {
    const { header, bytes } = await fetchFile(link, { signal: AbortSignal.timeout(3_000) });
    return header('content-type') === 'video/mp4' ? bytes : undefined;
  });
  expect(video.equals(await emulator.video(taskId))).toBe(true);
});

type World = Awaited<ReturnType<typeof start>>;
interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

/** The three calls that every service has, each of its own task. */
const CALLS: [call: 'submit' | 'status' | 'download', prepare: (world: World) => Promise<Call>][] = [
  ['submit', async () => ({ method: 'POST', path: TEXT, body: JSON.stringify(FOX) })],
  ['status', async ({ makeTask }) => ({ method: 'GET', path: `/v1/videos/${await makeTask()}` })],
  [
    'download',
    async ({ emulator, makeLink }) => ({
      method: 'GET',
      path: (await makeLink()).slice(emulator.url.length),
    }),
  ],
];

const send = ({ emulator }: World, { method, path, body }: Call) => {
  const headers = { authorization: `Bearer ${emulator.apiKey}`, 'content-type': 'application/json' };
  return fetch(emulator.url + path, { method, headers, body });
};

describe.each(CALLS)('the next %s', (call, prepare) => {
  it.each<[fault: AnswerFault, recorded: number | undefined]>([
    [{ kind: 'reset' }, undefined],
    [{ kind: 'cut-headers' }, 200],
    [{ kind: 'cut-body' }, 200],
  ])('loses its answer by %j, also twice, and the one after it does not', async (fault, recorded) => {
    const world = await start();
    const prepared = await prepare(world);
    world.emulator.next(call, fault, fault);
    for (let i = 0; i < 2; i++) {
      await expect(send(world, prepared).then((answer) => answer.arrayBuffer())).rejects.toThrow();
      expect(world.emulator.calls.at(-1)).toMatchObject({ call, status: recorded });
    }
    const answer = await send(world, prepared);
    expect(answer.status).toBe(200);
    expect((await answer.arrayBuffer()).byteLength).toBe(Number(answer.headers.get('content-length')));
  });

  it('gets no answer until the emulator is closed', async () => {
    const world = await start();
    const prepared = await prepare(world);
    world.emulator.next(call, { kind: 'hang' });
    // Either of the two may arrive first and hang.
    const both = [send(world, prepared), send(world, prepared)];
    expect((await Promise.race(both)).status).toBe(200);
    await world.emulator.close();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const answered = world.emulator.calls.slice(-2).map(({ status }) => status);
    expect(answered.sort()).toEqual([200, undefined]);
  });
});

describe('a submit', () => {
  it('that is invalid is refused as such, before any scripted fault', async () => {
    const { emulator, submit } = await start();
    emulator.next('submit', { kind: 'reset' });
    expect((await submit({})).status).toBe(400);
    expect(emulator.generations()).toHaveLength(0);
  });
});

describe('a task', () => {
  const failure = { code: 'nsfw', message: 'Not this.' };

  it('whose submit met failed-task runs for its job time, then fails for good', async () => {
    const { emulator, makeTask, viewOf } = await start();
    emulator.next('submit', { kind: 'failed-task', ...failure });
    const taskId = await makeTask();
    clock.nowMs = 500;
    expect(await viewOf(taskId)).toEqual({ task_id: taskId, status: 'running', progress: 50 });
    for (clock.nowMs of [1_000, 2_000])
      expect(await viewOf(taskId)).toEqual({ task_id: taskId, status: 'failed', error: failure });
  });

  it('whose poll met failed-task has failed at once and for good', async () => {
    const { emulator, makeTask, viewOf } = await start();
    const taskId = await makeTask();
    emulator.next('status', { kind: 'failed-task', ...failure });
    for (clock.nowMs of [0, 500, 2_000])
      expect(await viewOf(taskId)).toEqual({ task_id: taskId, status: 'failed', error: failure });
  });

  it('can be in an unknown state, or have succeeded without a video, once', async () => {
    const { emulator, makeTask, viewOf } = await start();
    const taskId = await makeTask();
    emulator.next('status', { kind: 'unknown-state', word: 'brewing' });
    expect(await viewOf(taskId)).toEqual({ task_id: taskId, status: 'brewing' });
    expect(await viewOf(taskId)).toMatchObject({ status: 'queued' });
    clock.nowMs = 1_000;
    emulator.next('status', { kind: 'no-video' });
    expect(await viewOf(taskId)).toEqual({ task_id: taskId, status: 'succeeded' });
    expect(await viewOf(taskId)).toHaveProperty('video_url');
  });
});

describe('a download', () => {
  it('that is cut announces the whole length and ends early', async () => {
    const { emulator, makeLink } = await start();
    const link = await makeLink();
    emulator.next('download', { kind: 'cut', afterBytes: 4_000 });
    const response = await fetch(link);
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '10000']);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  it('that stalls sends the set number of bytes and no more', async () => {
    const { emulator, makeLink } = await start();
    const link = await makeLink();
    emulator.next('download', { kind: 'stall', afterBytes: 4_000 });
    const reader = (await fetch(link)).body?.getReader();
    let bytes = 0;
    while (bytes < 4_000) bytes += (await reader?.read())?.value?.length ?? 0;
    expect(bytes).toBe(4_000);
    const rest = expect(reader?.read()).rejects.toThrow();
    await emulator.close();
    await rest;
  });

  it('can be a web page with status 200', async () => {
    const { emulator, makeLink } = await start();
    const link = await makeLink();
    emulator.next('download', { kind: 'web-page' });
    const { status, header, bytes } = await fetchFile(link);
    expect([status, header('content-type')]).toEqual([200, 'text/html']);
    expect(bytes.toString()).toContain('expired');
  });
});
