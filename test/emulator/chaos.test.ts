import {
  CHAOS_FAULTS,
  type ChaosOptions,
  type EmulatedCall,
  type Emulator,
  type FaultName,
  NAMED_FAULTS,
  startEmulator,
} from '../../src/emulator';
import { Chaos } from '../../src/emulator/chaos';

const CALLS = Object.keys(NAMED_FAULTS) as EmulatedCall[];

/** Each draw is about another task unless told. */
function drawn(chaos: Chaos, call: EmulatedCall, count: number, subject?: string) {
  return Array.from({ length: count }, (_, i) => chaos.draw(call, subject ?? `task ${i}`));
}
const kinds = (faults: ({ kind: string } | undefined)[]) => faults.map((fault) => fault?.kind);

describe('faults by chance', () => {
  it.each(CALLS)('meet no %s at the rate 0 and every one at the rate 1', (call) => {
    expect(drawn(new Chaos({ rate: 0 }), call, 200)).toEqual(Array(200).fill(undefined));
    expect(drawn(new Chaos({ rate: 1 }), call, 200)).not.toContain(undefined);
  });

  it('meet about as many calls as the rate says', () => {
    const met = drawn(new Chaos({ rate: 0.1, seed: 'fox' }), 'submit', 10_000).filter(Boolean).length;
    expect(met).toBeGreaterThan(900);
    expect(met).toBeLessThan(1_100);
  });

  it('are the same ones for the same seed, however the kinds of calls mix', () => {
    const [one, two] = [new Chaos({ rate: 0.5, seed: 'fox' }), new Chaos({ rate: 0.5, seed: 'fox' })];
    const submits = drawn(one, 'submit', 50);
    const looks = drawn(one, 'status', 50);
    for (let i = 0; i < 50; i++) {
      expect(two.draw('status', `task ${i}`)).toEqual(looks[i]);
      expect(two.draw('submit', `task ${i}`)).toEqual(submits[i]);
    }
  });

  it('are others for another seed, and without one', () => {
    const some = (options: Partial<ChaosOptions>) =>
      kinds(drawn(new Chaos({ rate: 0.5, ...options }), 'submit', 50));
    expect(some({ seed: 'fox' })).not.toEqual(some({ seed: 'snow' }));
    expect(some({})).not.toEqual(some({}));
  });

  it.each(CALLS)('are all those of the list for a %s, and no others', (call) => {
    const seen = new Set(drawn(new Chaos({ rate: 1, seed: 'fox' }), call, 2_000));
    const listed = CHAOS_FAULTS.filter((name) => name.startsWith(`${call}:`));
    const expected = listed.map((name) => Reflect.get(NAMED_FAULTS[call], name.slice(call.length + 1)));
    expect(expected).not.toContain(undefined);
    expect(seen).toEqual(new Set(expected));
  });

  it('are those that were chosen, and none for calls that were not', () => {
    const chaos = new Chaos({ rate: 1, faults: ['submit:reset', 'submit:hang'] });
    expect(new Set(kinds(drawn(chaos, 'submit', 100)))).toEqual(new Set(['reset', 'hang']));
    expect(new Set(drawn(chaos, 'status', 100))).toEqual(new Set([undefined]));
  });

  it('hide a task just after its submit alone: later that would be the loss of a paid one', () => {
    const chaos = new Chaos({ rate: 1, faults: ['status:not-found'] });
    for (const taskId of ['a', 'b']) {
      expect(kinds(drawn(chaos, 'status', 3, taskId))).toEqual(['refused', undefined, undefined]);
    }
  });

  it('never end a task, never take longer than a client waits for a submit or a look', () => {
    const slow: FaultName[] = ['submit:hang', 'status:hang', 'download:hang', 'status:no-video'];
    for (const name of slow) expect(CHAOS_FAULTS).not.toContain(name);
  });

  it.each([-0.1, 1.1, Number.NaN])('of the rate %d are refused', async (rate) => {
    await expect(startEmulator({ chaos: { rate } })).rejects.toThrow(
      `The rate of chaos is ${rate}: give 0 to 1.`,
    );
  });
});

describe('an emulator in chaos', () => {
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
  /** What a caller makes of so many submits: their statuses, or that there was none. */
  const outcomes = async (count: number) => {
    const seen: unknown[] = [];
    for (let i = 0; i < count; i++) {
      const answer = submit().then(async (response) => [response.status, (await response.text()).length]);
      seen.push(await answer.catch(() => 'lost'));
    }
    return seen;
  };
  const QUICK = CHAOS_FAULTS.filter((name) => !/late|stall/.test(name));

  it('counts every generation, whatever its caller was told', async () => {
    await start({ rate: 1, faults: ['submit:reset', 'submit:cut-body', 'submit:empty', 'submit:bad-json'] });
    await outcomes(10);
    expect(emulator.generations()).toHaveLength(10);
    expect(emulator.calls).toHaveLength(10);
  });

  it('has the same faults again with the seed that it tells', async () => {
    await start({ rate: 0.5, faults: QUICK });
    const { chaosSeed: seed } = emulator;
    const first = await outcomes(30);
    expect(new Set(first.map(String)).size).toBeGreaterThan(2);
    await emulator.close();
    await start({ rate: 0.5, faults: QUICK, seed });
    expect(emulator.chaosSeed).toBe(seed);
    expect(await outcomes(30)).toEqual(first);
  });

  it('has scripted faults first, and chance after them', async () => {
    await start({ rate: 1, faults: ['submit:server-error'] });
    emulator.next('submit', { kind: 'refused', status: 418, message: 'tea' }, { kind: 'empty', status: 203 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await submit()).status);
    expect(statuses).toEqual([418, 203, 500]);
  });

  it('lets all three calls through in the end, with the whole video', async () => {
    await start({ rate: 0.5, seed: 'fox', faults: QUICK });
    const untilRight = async <T>(attempt: () => Promise<T | undefined>): Promise<T> => {
      for (;;) {
        const got = await attempt().catch(() => undefined);
        if (got !== undefined) return got;
      }
    };
    const field = async (response: Response, name: string): Promise<string | undefined> =>
      response.ok ? Reflect.get(Object(await response.json()), name) : undefined;
    const taskId = await untilRight(async () => field(await submit(), 'task_id'));
    const link = await untilRight(async () =>
      field(await fetch(`${emulator.url}/v1/videos/${taskId}`, { headers: headers() }), 'video_url'),
    );
    const video = await untilRight(async () => {
      const response = await fetch(link);
      if (response.headers.get('content-type') !== 'video/mp4') return undefined;
      return Buffer.from(await response.arrayBuffer());
    });
    expect(video.equals(await emulator.video(taskId))).toBe(true);
  });

  it('is none unless it was asked for', async () => {
    await start();
    expect(emulator.chaosSeed).toBeUndefined();
    expect(new Set((await outcomes(30)).map((outcome) => Reflect.get(Object(outcome), 0)))).toEqual(
      new Set([200]),
    );
  });
});
