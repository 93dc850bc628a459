import { startEmulator } from '../../src/testing/emulator';
import { type ChaosOptions, type EmulatedCall, FaultSource, faultsOn } from '../../src/testing/faults';
import { fetchFile, start, taskIdOf } from './service-client';

const CALLS: EmulatedCall[] = ['submit', 'status', 'download', 'cancel', 'retrieve'];

function drawFaults(options: ChaosOptions, call: EmulatedCall, count: number) {
  const faults = new FaultSource(options);
  return Array.from({ length: count }, () => faults.take(call));
}

describe('random faults', () => {
  it('meet about the share of calls that the rate sets', () => {
    for (const [rate, least, most] of [
      [0, 0, 0],
      [0.1, 900, 1_100],
      [1, 10_000, 10_000],
    ] as const) {
      const met = drawFaults({ rate, seed: 'fox' }, 'submit', 10_000).filter(Boolean).length;
      expect(met).toBeGreaterThanOrEqual(least);
      expect(met).toBeLessThanOrEqual(most);
    }
  });

  it('are the same for the same seed alone, in whatever order the kinds of calls come', () => {
    const options = { rate: 0.5, seed: 'fox' };
    const [submits, polls] = [drawFaults(options, 'submit', 50), drawFaults(options, 'status', 50)];
    const both = new FaultSource(options);
    for (let i = 0; i < 50; i++)
      expect([both.take('status'), both.take('submit')]).toEqual([polls[i], submits[i]]);
    expect(drawFaults({ rate: 0.5, seed: 'snow' }, 'submit', 50)).not.toEqual(submits);
    expect(drawFaults({ rate: 0.5 }, 'submit', 50)).not.toEqual(drawFaults({ rate: 0.5 }, 'submit', 50));
  });

  it.each(CALLS)('for a %s are those in the list, which never end a task or take minutes', (call) => {
    const listed = faultsOn(call).flatMap(([, { fault, byChance }]) => (byChance ? [fault] : []));
    const drawn = drawFaults({ rate: 1, seed: 'fox' }, call, 2_000).map((fault) => JSON.stringify(fault));
    expect(new Set(drawn)).toEqual(new Set(listed.map((fault) => JSON.stringify(fault))));
    const kinds = listed.map(({ kind }) => kind);
    for (const kind of ['hang', 'no-video', 'failed-task', 'refused']) expect(kinds).not.toContain(kind);
  });

  it.each([-0.1, 1.1, Number.NaN])('are refused for the rate %d', async (rate) => {
    await expect(startEmulator({ chaos: { rate } })).rejects.toThrow(
      `The rate of chaos is ${rate}: give 0 to 1.`,
    );
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
