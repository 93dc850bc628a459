import { cachedWorkflows } from '../../src/worker/worker-options';

const MB = 1_000_000;

describe('the workflows that a worker keeps in memory', () => {
  it.each([
    [64_000, 1_000],
    [600, 1_000],
    [500, 600],
    [400, 200],
    [256, 40],
  ])('in %d MB are %d', (memoryMb, workflows) => {
    expect(cachedWorkflows({}, memoryMb * MB)).toBe(workflows);
  });

  it('are as many as the program says, whatever the memory is', () => {
    expect(cachedWorkflows({ maxCachedWorkflows: 7 }, 256 * MB)).toBe(7);
    expect(cachedWorkflows({ maxCachedWorkflows: 0 }, 256 * MB)).toBe(0);
  });

  it('are a number for this machine', () => {
    expect(cachedWorkflows()).toBeGreaterThanOrEqual(40);
    expect(cachedWorkflows()).toBeLessThanOrEqual(1_000);
  });
});
