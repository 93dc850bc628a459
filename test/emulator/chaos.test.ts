import type { Emulator } from '../../src/testing';
import type { ChaosOptions } from '../../src/testing/chaos';
import { Chaos } from '../../src/testing/chaos';
import { startEmulator } from '../../src/testing/emulator';
import type { EmulatedCall, FaultName } from '../../src/testing/faults';
import { CALLS, faultsOn, isByChance, namedFault } from '../../src/testing/faults';

/** Each draw is for another task unless `subject` is given. */
function drawFaults(chaos: Chaos, call: EmulatedCall, count: number, subject?: string) {
  return Array.from({ length: count }, (_, i) => chaos.draw(call, subject ?? `task ${i}`));
}
const kinds = (faults: ({ kind: string } | undefined)[]) => faults.map((fault) => fault?.kind);

describe('random faults', () => {
  it.each(CALLS)('meet no %s at rate 0 and each one at rate 1', (call) => {
    expect(drawFaults(new Chaos({ rate: 0 }), call, 200)).toEqual(Array(200).fill(undefined));
    expect(drawFaults(new Chaos({ rate: 1 }), call, 200)).not.toContain(undefined);
  });

  it('meet about the share of calls that the rate sets', () => {
    const met = drawFaults(new Chaos({ rate: 0.1, seed: 'fox' }), 'submit', 10_000).filter(Boolean).length;
    expect(met).toBeGreaterThan(900);
    expect(met).toBeLessThan(1_100);
  });

  it('are the same for the same seed, in whatever order the kinds of calls come', () => {
    const [one, two] = [new Chaos({ rate: 0.5, seed: 'fox' }), new Chaos({ rate: 0.5, seed: 'fox' })];
    const submits = drawFaults(one, 'submit', 50);
    const polls = drawFaults(one, 'status', 50);
    for (let i = 0; i < 50; i++) {
      expect(two.draw('status', `task ${i}`)).toEqual(polls[i]);
      expect(two.draw('submit', `task ${i}`)).toEqual(submits[i]);
    }
  });

  it('differ for another seed, and from run to run without one', () => {
    const some = (options: Partial<ChaosOptions>) =>
      kinds(drawFaults(new Chaos({ rate: 0.5, ...options }), 'submit', 50));
    expect(some({ seed: 'fox' })).not.toEqual(some({ seed: 'snow' }));
    expect(some({})).not.toEqual(some({}));
  });

  it.each(CALLS)('for a %s are exactly those in the list', (call) => {
    const drawn = new Set(drawFaults(new Chaos({ rate: 1, seed: 'fox' }), call, 2_000));
    const listed = faultsOn(call).filter((name) => isByChance(call, name));
    const expected = listed.map((name) => namedFault(call, name));
    expect(expected).not.toContain(undefined);
    expect(drawn).toEqual(new Set(expected));
  });

  it('are only the chosen ones, so other calls meet none', () => {
    const chaos = new Chaos({ rate: 1, faults: ['submit:reset', 'submit:hang'] });
    expect(new Set(kinds(drawFaults(chaos, 'submit', 100)))).toEqual(new Set(['reset', 'hang']));
    expect(new Set(drawFaults(chaos, 'status', 100))).toEqual(new Set([undefined]));
  });

  it('hide a task on its first poll only: a later 404 would mean that a paid task is lost', () => {
    const chaos = new Chaos({ rate: 1, faults: ['status:not-found'] });
    for (const taskId of ['a', 'b']) {
      expect(kinds(drawFaults(chaos, 'status', 3, taskId))).toEqual(['refused', undefined, undefined]);
    }
  });

  it('never end a task, and never take longer than a client waits for a submit or a poll', () => {
    for (const call of CALLS) {
      for (const slow of ['hang', 'no-video', 'failed-task']) expect(isByChance(call, slow)).toBe(false);
    }
  });

  it.each([-0.1, 1.1, Number.NaN])('are refused for the rate %d', async (rate) => {
    await expect(startEmulator({ chaos: { rate } })).rejects.toThrow(
      `The rate of chaos is ${rate}: give 0 to 1.`,
    );
  });
});

describe('an emulator with chaos', () => {
  let emulator: Emulator;
  const start = async (chaos?: ChaosOptions) => {
    emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 10_000, chaos });
  };
  afterEach(() => emulator.close());

  const headers = () => ({ authorization: `Bearer ${emulator.apiKey}` });
  const submit = () =>
    fetch(`${emulator.url}/v1/videos/text-to-video`, {
      method: 'POST',
      headers: headers(),
      body: '{"prompt":"A red fox"}',
    });
  /** The status and length of each answer, or that it was lost. */
  const submitAll = async (count: number) => {
    const outcomes: unknown[] = [];
    for (let i = 0; i < count; i++) {
      const answer = submit().then(async (response) => [response.status, (await response.text()).length]);
      outcomes.push(await answer.catch(() => 'lost'));
    }
    return outcomes;
  };
  const QUICK = CALLS.flatMap((call) =>
    faultsOn(call)
      .filter((name) => isByChance(call, name) && !/late|stall/.test(name))
      .map((name) => `${call}:${name}` as FaultName),
  );

  it('counts every generation, even if its answer is lost', async () => {
    await start({ rate: 1, faults: ['submit:reset', 'submit:cut-body', 'submit:empty', 'submit:bad-json'] });
    await submitAll(10);
    expect(emulator.generations()).toHaveLength(10);
    expect(emulator.calls).toHaveLength(10);
  });

  it('repeats its faults with the seed that it reports', async () => {
    await start({ rate: 0.5, faults: QUICK });
    const { chaosSeed: seed } = emulator;
    const first = await submitAll(30);
    expect(new Set(first.map(String)).size).toBeGreaterThan(2);
    await emulator.close();
    await start({ rate: 0.5, faults: QUICK, seed });
    expect(emulator.chaosSeed).toBe(seed);
    expect(await submitAll(30)).toEqual(first);
  });

  it('uses scripted faults before random ones', async () => {
    await start({ rate: 1, faults: ['submit:server-error'] });
    emulator.next('submit', { kind: 'refused', status: 418, message: 'tea' }, { kind: 'empty', status: 203 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await submit()).status);
    expect(statuses).toEqual([418, 203, 500]);
  });

  it('lets all three calls succeed in the end, with the whole video', async () => {
    await start({ rate: 0.5, seed: 'fox', faults: QUICK });
    const untilItSucceeds = async <T>(attempt: () => Promise<T | undefined>): Promise<T> => {
      for (;;) {
        const result = await attempt().catch(() => undefined);
        if (result !== undefined) return result;
      }
    };
    const field = async (response: Response, name: string): Promise<string | undefined> =>
      response.ok ? Reflect.get(Object(await response.json()), name) : undefined;
    const taskId = await untilItSucceeds(async () => field(await submit(), 'task_id'));
    const link = await untilItSucceeds(async () =>
      field(await fetch(`${emulator.url}/v1/videos/${taskId}`, { headers: headers() }), 'video_url'),
    );
    const video = await untilItSucceeds(async () => {
      const response = await fetch(link);
      if (response.headers.get('content-type') !== 'video/mp4') return undefined;
      return Buffer.from(await response.arrayBuffer());
    });
    expect(video.equals(await emulator.video(taskId))).toBe(true);
  });

  it('has no chaos unless it is set', async () => {
    await start();
    expect(emulator.chaosSeed).toBeUndefined();
    expect(new Set((await submitAll(30)).map((outcome) => Reflect.get(Object(outcome), 0)))).toEqual(
      new Set([200]),
    );
  });
});
