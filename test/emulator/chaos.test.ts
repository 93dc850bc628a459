import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { type ChaosOptions, type EmulatedCall, FaultSource, faultsOn } from '../../src/testing/faults';

const CALLS: EmulatedCall[] = ['submit', 'status', 'download', 'cancel', 'retrieve'];

function drawFaults(options: ChaosOptions, call: EmulatedCall, count: number) {
  const faults = new FaultSource(options);
  return Array.from({ length: count }, () => faults.take(call));
}

describe('random faults', () => {
  it.each(CALLS)('meet no %s at rate 0 and each one at rate 1', (call) => {
    expect(drawFaults({ rate: 0 }, call, 200)).toEqual(Array(200).fill(undefined));
    expect(drawFaults({ rate: 1 }, call, 200)).not.toContain(undefined);
  });

  it('meet about the share of calls that the rate sets', () => {
    const met = drawFaults({ rate: 0.1, seed: 'fox' }, 'submit', 10_000).filter(Boolean).length;
    expect(met).toBeGreaterThan(900);
    expect(met).toBeLessThan(1_100);
  });

  it('are the same for the same seed, in whatever order the kinds of calls come', () => {
    const options = { rate: 0.5, seed: 'fox' };
    const submits = drawFaults(options, 'submit', 50);
    const polls = drawFaults(options, 'status', 50);
    const both = new FaultSource(options);
    for (let i = 0; i < 50; i++) {
      expect(both.take('status')).toEqual(polls[i]);
      expect(both.take('submit')).toEqual(submits[i]);
    }
  });

  it('differ for another seed, and from run to run without one', () => {
    const some = (seed?: string) => drawFaults({ rate: 0.5, seed }, 'submit', 50);
    expect(some('fox')).not.toEqual(some('snow'));
    expect(some()).not.toEqual(some());
  });

  it.each(CALLS)('for a %s are exactly those in the list', (call) => {
    const listed = faultsOn(call).flatMap(([, { fault, byChance }]) => (byChance ? [fault] : []));
    const drawn = drawFaults({ rate: 1, seed: 'fox' }, call, 2_000).map((fault) => JSON.stringify(fault));
    expect(new Set(drawn)).toEqual(new Set(listed.map((fault) => JSON.stringify(fault))));
  });

  it('never end a task, and never take longer than a client waits for a submit or a poll', () => {
    const kinds = CALLS.flatMap((call) => drawFaults({ rate: 1 }, call, 500).map((fault) => fault?.kind));
    for (const kind of ['hang', 'no-video', 'failed-task', 'refused']) expect(kinds).not.toContain(kind);
  });

  it.each([-0.1, 1.1, Number.NaN])('are refused for the rate %d', async (rate) => {
    await expect(startEmulator({ chaos: { rate } })).rejects.toThrow(
      `The rate of chaos is ${rate}: give 0 to 1.`,
    );
  });
});

describe('an emulator with chaos', () => {
  let emulator: Emulator;
  const start = async (chaos: ChaosOptions) => {
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

  it('uses scripted faults before random ones', async () => {
    await start({ rate: 1 });
    emulator.next('submit', { kind: 'refused', status: 418, message: 'tea' }, { kind: 'empty', status: 203 });
    expect([(await submit()).status, (await submit()).status]).toEqual([418, 203]);
    expect(emulator.scriptIsSpent()).toBe(true);
  });

  it('lets all three calls succeed in the end, with the whole video', async () => {
    await start({ rate: 0.3, seed: 'fox' });
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
      const response = await fetch(link, { signal: AbortSignal.timeout(3_000) });
      if (response.headers.get('content-type') !== 'video/mp4') return undefined;
      return Buffer.from(await response.arrayBuffer());
    });
    expect(video.equals(await emulator.video(taskId))).toBe(true);
  });
});
