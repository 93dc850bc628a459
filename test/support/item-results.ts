import type { ItemResult } from '../../src/contract/batch';

/** The result of an item that succeeded. */
export const stored = (item: number): ItemResult => ({
  item,
  name: `foxes-${item}`,
  outcome: 'succeeded',
  taskId: `task-${item}`,
  video: { uri: `file:///videos/foxes-${item}.mp4`, bytes: 1, sha256: 'ab', contentType: 'video/mp4' },
  polls: 1,
  waitedMs: 1_000,
  warnings: [],
});
