import { cachedWorkflows } from '../../src/worker/workflow-cache';

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

  it('are as many as the setting says, whatever the memory is', () => {
    expect(cachedWorkflows({ VIDEOGEN_CACHED_WORKFLOWS: '5000' }, 256 * MB)).toBe(5_000);
    expect(cachedWorkflows({ VIDEOGEN_CACHED_WORKFLOWS: ' ' }, 256 * MB)).toBe(40);
  });
});
