import { type CallOutcome, RateLimiter } from '../../src/service';
import { submitSlots, submitTuner } from '../../src/worker/submit-slots';

const CONTEXT = {
  slotType: 'activity' as const,
  taskQueue: 'submits',
  workerIdentity: 'a worker',
  workerBuildId: '',
  isSticky: false,
};
const RELEASED = { permit: {} };

function setUp(most = 3) {
  const rateLimiter = new RateLimiter({ clock: () => Date.now() });
  const slots = submitSlots(rateLimiter, most);
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
  const shut = () => submit({ kind: 'limited', retryAfterMs: 5_000 });
  return { rateLimiter, slots, given, reserve, submit, shut, listeners };
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

/** Promises that are settled get to tell so. */
const settle = () => jest.advanceTimersByTimeAsync(0);

describe('submit slots', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are as many as the worker may have while the rate limiter is open, given in the order of asking', async () => {
    const { slots, given, reserve } = setUp(2);
    for (const name of ['first', 'second', 'third', 'fourth']) void reserve(name);
    await settle();
    expect(given).toEqual(['first', 'second']);
    slots.releaseSlot(RELEASED);
    await settle();
    expect(given).toEqual(['first', 'second', 'third']);
  });

  it('are none while the rate limiter is shut, and one when its time has come', async () => {
    const { given, reserve, shut } = setUp();
    shut();
    void reserve('first');
    void reserve('second');
    await jest.advanceTimersByTimeAsync(4_999);
    expect(given).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(given).toEqual(['first']);
  });

  it('are given when the rate limiter hears of an ended task', async () => {
    const { rateLimiter, given, reserve, submit } = setUp();
    submit({ kind: 'limited' });
    void reserve('first');
    await settle();
    expect(given).toEqual([]);
    rateLimiter.recordTaskEnd();
    await settle();
    expect(given).toEqual(['first']);
  });

  it('follow a rate limiter that shuts later than somebody began to wait', async () => {
    const { slots, given, reserve, shut } = setUp(1);
    void reserve('first');
    void reserve('second');
    await settle();
    shut();
    slots.releaseSlot(RELEASED);
    await jest.advanceTimersByTimeAsync(4_999);
    expect(given).toEqual(['first']);
    await jest.advanceTimersByTimeAsync(1);
    expect(given).toEqual(['first', 'second']);
  });

  it('become more as the rate limiter widens', async () => {
    const { given, reserve, submit, shut } = setUp(20);
    shut();
    for (let asked = 0; asked < 5; asked += 1) void reserve(`${asked}`);
    await jest.advanceTimersByTimeAsync(5_000);
    const counts: number[] = [];
    for (let passed = 0; passed < 4; passed += 1) {
      submit({ kind: 'passed' });
      await settle();
      counts.push(given.length);
    }
    expect(counts).toEqual([1, 2, 4, 5]);
  });

  it('are given at once or not at all to who does not wait, and never before who does', async () => {
    const { slots, reserve, given, shut } = setUp(1);
    expect(slots.tryReserveSlot(CONTEXT)).toEqual({});
    expect(slots.tryReserveSlot(CONTEXT)).toBeNull();
    slots.releaseSlot(RELEASED);
    shut();
    void reserve('first');
    // The rate limiter's time has come, and the timer is late.
    jest.setSystemTime(Date.now() + 5_000);
    expect(slots.tryReserveSlot(CONTEXT)).toBeNull();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(given).toEqual(['first']);
  });

  it('are not given while the rate limiter is shut to who does not wait', () => {
    const { slots, shut } = setUp();
    shut();
    expect(slots.tryReserveSlot(CONTEXT)).toBeNull();
  });

  it('are not kept for who gave up, and leave neither a timer nor a listener behind', async () => {
    const { given, reserve, shut, listeners } = setUp(1);
    shut();
    const controller = new AbortController();
    const first = reserve('first', controller.signal);
    expect([jest.getTimerCount(), listeners()]).toEqual([1, 1]);
    controller.abort();
    await expect(first).rejects.toBe(controller.signal.reason);
    expect([jest.getTimerCount(), listeners()]).toEqual([0, 0]);

    void reserve('second');
    await jest.advanceTimersByTimeAsync(5_000);
    expect(given).toEqual(['second']);
    expect([jest.getTimerCount(), listeners()]).toEqual([0, 0]);
  });

  it('are refused to who has given up before asking', async () => {
    const { slots, reserve } = setUp(1);
    const signal = AbortSignal.abort();
    await expect(reserve('first', signal)).rejects.toBe(signal.reason);
    expect(slots.tryReserveSlot(CONTEXT)).toEqual({});
  });

  it('stay with who gives up after the slot was given', async () => {
    const { slots, given, reserve } = setUp(1);
    const controller = new AbortController();
    void reserve('first', controller.signal);
    await settle();
    controller.abort();
    await settle();
    expect(given).toEqual(['first']);
    expect(slots.tryReserveSlot(CONTEXT)).toBeNull();
  });

  it('do not keep the process alive', () => {
    const { reserve, shut } = setUp();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    shut();
    void reserve('first');
    expect(timers.mock.results.map(({ value }) => value.hasRef())).toEqual([false]);
  });

  it('come with some for each other kind of task, which the SDK asks for', () => {
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
