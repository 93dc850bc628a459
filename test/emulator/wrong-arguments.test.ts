import type { Emulator } from '../../src/testing';
import { createVideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';

/** Calls without type checks, as JavaScript does. */
const unchecked = (name: string, target: object): ((...given: unknown[]) => unknown) =>
  Reflect.get(target, name).bind(target);

const CALLS = 'submit, status, download, cancel, retrieve';
const ANSWERS = 'rate-limited, server-error, reset, hang, cut-headers, cut-body, bad-json, empty';

describe('emulator.next', () => {
  let emulator: Emulator;
  beforeEach(async () => {
    emulator = await startEmulator();
  });
  afterEach(() => emulator.close());

  it.each<[given: unknown[], sentence: string]>([
    [['task', { kind: 'reset' }], `emulator.next: the call is 'task': give one of ${CALLS}.`],
    [['toString', { kind: 'reset' }], `emulator.next: the call is 'toString': give one of ${CALLS}.`],
    [[], `emulator.next: the call is undefined: give one of ${CALLS}.`],
    [
      ['submit', { kind: 'rest' }],
      `emulator.next('submit', …): the kind of the fault is 'rest': give one of ${ANSWERS}, late, reset-late, refused, failed-task, refused-content.`,
    ],
    [
      ['cancel', { kind: 'cut', afterBytes: 1 }],
      `emulator.next('cancel', …): the kind of the fault is 'cut': give one of ${ANSWERS}, refused.`,
    ],
    [
      ['submit', 'reset'],
      "emulator.next('submit', …): the fault is 'reset': give an object, such as { kind: 'reset' }.",
    ],
    [
      ['status', { kind: 'refused' }],
      "emulator.next('status', …): a fault 'refused' also needs status and message.",
    ],
    [['download', { kind: 'cut' }], "emulator.next('download', …): a fault 'cut' also needs afterBytes."],
  ])('%j is refused in one sentence', (given, sentence) => {
    expect(() => unchecked('next', emulator)(...given)).toThrow(new RangeError(sentence));
    expect(emulator.scriptIsSpent()).toBe(true);
  });

  it('adds no fault if one of them is wrong', () => {
    expect(() => unchecked('next', emulator)('submit', { kind: 'reset' }, {})).toThrow(RangeError);
    expect(emulator.scriptIsSpent()).toBe(true);
  });
});

describe('startEmulator', () => {
  it.each<[options: object, start: string]>([
    [
      { idempotencyKeys: 'honored' },
      "startEmulator: idempotencyKeys is 'honored': give one of ignored, honoured.",
    ],
    [{ jobTimeMs: '5s' }, "startEmulator: jobTimeMs is '5s': give milliseconds, such as 5000."],
    [{ jobTimeMs: -1 }, 'startEmulator: jobTimeMs is -1: give milliseconds, such as 5000.'],
    [{ chaos: {} }, 'The rate of chaos is undefined: give 0 to 1.'],
    [
      { chaos: { rate: 0.1, faults: ['submit:rest'] } },
      "A fault of chaos is 'submit:rest': give one of submit:rate-limited,",
    ],
  ])('%j is refused in one sentence', async (options, start) => {
    await expect(unchecked('startEmulator', { startEmulator })(options)).rejects.toThrow(start);
  });
});

it('createVideoTestEnvironment checks the name of its server before it starts one', async () => {
  await expect(
    unchecked('createVideoTestEnvironment', { createVideoTestEnvironment })({ server: 'prod' }),
  ).rejects.toThrow("createVideoTestEnvironment: server is 'prod': give one of time-skipping, dev.");
});
