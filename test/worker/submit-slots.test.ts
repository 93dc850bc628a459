import { type CallOutcome, RateLimiter } from '../../src/service';
import { SubmitSlots, submitTuner } from '../../src/worker/submit-slots';

const CONTEXT = {
  slotType: 'activity' as const,
  taskQueue: 'submits',
  workerIdentity: 'a worker',
  workerBuildId: '',
  isSticky: false,
};

function setUp(most = 3, clock = () => Date.now()) {
  const rateLimiter = new RateLimiter({ clock });
  const slots = new SubmitSlots(rateLimiter, most);
  const listeners = countListeners(rateLimiter);
  const given: string[] = [];
  const reserve = (name: string, signal = new AbortController().signal) => {
    const reserved = slots.reserveSlot(CONTEXT, signal).then(() => void given.push(name));
    reserved.catch(() => undefined);
    return reserved;
  };
  const submit = (outcome: CallOutcome) => {
    const permit = rateLimiter.acquire('submit');
    if (!permit.granted) throw new Error('the rate limiter grants no permit');
    permit.release(outcome);
  };
  const close = () => submit({ kind: 'limited', retryAfterMs: 5_000 });
  return { rateLimiter, slots, given, reserve, submit, close, listeners };
}

function countListeners(rateLimiter: RateLimiter): () => number {
  let count = 0;
  const onChange = rateLimiter.onChange.bind(rateLimiter);
  jest.spyOn(rateLimiter, 'onChange').mockImplementation((callback) => {
    const stop = onChange(callback);
    count += 1;
    return () => {
      count -= 1;
      stop();
    };
  });
  return () => count;
}

/** Lets handlers of settled promises run. */
const settle = () => jest.advanceTimersByTimeAsync(0);

describe('submit slots', () => {
  beforeEach(() => {
    // Timers alone: what else runs in this process uses the others, and they would be counted.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are given up to the worker’s limit while the rate limiter is open, in the order of the requests', async () => {
    const { slots, given, reserve, submit } = setUp(2);
    // A rate limiter opens once a few submits have passed.
    for (let passed = 0; passed < 8; passed += 1) submit({ kind: 'passed' });
    for (const name of ['first', 'second', 'third', 'fourth']) void reserve(name);
    await settle();
    expect(given).toEqual(['first', 'second']);
    slots.releaseSlot();
    await settle();
    expect(given).toEqual(['first', 'second', 'third']);
  });

  it('are not given while the rate limiter is closed, and one is given when its pause is over', async () => {
    const { given, reserve, close } = setUp();
    close();
    void reserve('first');
    void reserve('second');
    await jest.advanceTimersByTimeAsync(4_999);
    expect(given).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(given).toEqual(['first']);
  });

  it('are given although the pause ends between two readings of the clock', async () => {
    for (let early = 0; early < 8; early += 1) {
      const endsAt = Date.now() + 5_000;
      let readings = 0;
      // A timer may fire a little early by another clock: then the first readings are before the end, and the others after it.
      const isEarly = () => Date.now() === endsAt && readings++ < early;
      const { given, reserve, close } = setUp(3, () => Date.now() - (isEarly() ? 0.5 : 0));
      close();
      void reserve('first');
      await jest.advanceTimersByTimeAsync(5_001);
      expect({ early, given }).toEqual({ early, given: ['first'] });
    }
  });

  it('are given when a task ends', async () => {
    const { rateLimiter, given, reserve, submit } = setUp();
    submit({ kind: 'limited' });
    void reserve('first');
    await settle();
    expect(given).toEqual([]);
    rateLimiter.recordTaskEnd();
    await settle();
    expect(given).toEqual(['first']);
  });

  it('follow a rate limiter that closes while a request waits', async () => {
    const { slots, given, reserve, close } = setUp(1);
    void reserve('first');
    void reserve('second');
    await settle();
    close();
    slots.releaseSlot();
    await jest.advanceTimersByTimeAsync(4_999);
    expect(given).toEqual(['first']);
    await jest.advanceTimersByTimeAsync(1);
    expect(given).toEqual(['first', 'second']);
  });

  it.each([
    ['in a new process', () => undefined],
    [
      'at a known pace',
      ({ submit }: ReturnType<typeof setUp>) => {
        submit({ kind: 'limited' });
        jest.advanceTimersByTime(1_000);
        for (const kind of ['passed', 'passed', 'limited'] as const) submit({ kind });
        jest.advanceTimersByTime(500);
      },
    ],
  ])('are given while a slow submit runs, %s', async (_when, prepare) => {
    const world = setUp();
    prepare(world);
    void world.reserve('first');
    void world.reserve('second');
    await settle();
    expect(world.given).toEqual(['first']);
    world.rateLimiter.acquire('submit');
    await jest.advanceTimersByTimeAsync(5_000);
    expect(world.given).toEqual(['first', 'second']);
  });

  it('are given at once or not at all to a request that does not wait, and never before one that waits', async () => {
    const { slots, reserve, given, close } = setUp(1);
    expect(slots.tryReserveSlot()).toEqual({});
    expect(slots.tryReserveSlot()).toBeNull();
    slots.releaseSlot();
    close();
    expect(slots.tryReserveSlot()).toBeNull();
    void reserve('first');
    // The pause is over, but the timer has not fired yet.
    jest.setSystemTime(Date.now() + 5_000);
    expect(slots.tryReserveSlot()).toBeNull();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(given).toEqual(['first']);
  });

  it('are not reserved for an aborted request, which leaves neither a timer nor a listener', async () => {
    const { rateLimiter, given, reserve, close, listeners } = setUp(1);
    const looks = jest.spyOn(rateLimiter, 'untilNextChangeMs');
    /** Timers are not counted: what else runs in this process may have some. */
    const looksIn = async (ms: number) => {
      looks.mockClear();
      await jest.advanceTimersByTimeAsync(ms);
      return looks.mock.calls.length;
    };
    close();
    const controller = new AbortController();
    const first = reserve('first', controller.signal);
    expect(listeners()).toBe(1);
    controller.abort();
    await expect(first).rejects.toBe(controller.signal.reason);
    expect([await looksIn(4_000), listeners()]).toEqual([0, 0]);

    void reserve('second');
    expect([await looksIn(1_000), given]).toEqual([1, ['second']]);
    expect([await looksIn(60_000), listeners()]).toEqual([0, 0]);
  });

  it('are refused to a request that is aborted before it starts, and stay with one that is aborted later', async () => {
    const { slots, given, reserve } = setUp(1);
    const signal = AbortSignal.abort();
    await expect(reserve('first', signal)).rejects.toBe(signal.reason);
    const controller = new AbortController();
    void reserve('second', controller.signal);
    await settle();
    controller.abort();
    await settle();
    expect(given).toEqual(['second']);
    expect(slots.tryReserveSlot()).toBeNull();
  });

  it('do not keep the process alive', () => {
    const { reserve, close } = setUp();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    close();
    void reserve('first');
    expect(timers.mock.results.map(({ value }) => value.hasRef())).toEqual([false]);
  });

  it('come with a supplier for each other kind of task, which the SDK requires', () => {
    const { activityTaskSlotSupplier, ...others } = submitTuner(new RateLimiter(), 3);
    expect(activityTaskSlotSupplier.type).toBe('custom');
    expect(Object.keys(others).sort()).toEqual([
      'localActivityTaskSlotSupplier',
      'nexusTaskSlotSupplier',
      'workflowTaskSlotSupplier',
    ]);
    for (const other of Object.values(others)) expect(other).toEqual({ type: 'fixed-size', numSlots: 1 });
  });
});
