import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inFolder, shareRuns } from '../../src/storage/folders';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'videogen-folders-'));
});
afterEach(() => rmSync(root, { recursive: true }));

describe('runs that callers share', () => {
  const world = () => {
    const ends: ((error?: Error) => void)[] = [];
    const run = shareRuns(
      () =>
        new Promise((resolve, reject) => {
          ends.push((error) => (error ? reject(error) : resolve()));
        }),
    );
    return { run, ends };
  };
  const isOver = (promise: Promise<void>) =>
    Promise.race([
      promise.then(
        () => true,
        () => true,
      ),
      new Promise((resolve) => setImmediate(() => resolve(false))),
    ]);

  it('never count for a caller that came after they began: that one waits for the next run', async () => {
    const { run, ends } = world();
    const first = run('videos');
    const [second, third] = [run('videos'), run('videos')];
    ends[0]?.();
    await first;
    expect(await isOver(second)).toBe(false);
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await Promise.all([second, third]);
    expect(ends).toHaveLength(2);
  });

  it('go on after one that failed, and start at once when none is under way', async () => {
    const { run, ends } = world();
    const first = run('videos');
    const second = run('videos');
    ends[0]?.(new Error('EIO'));
    await expect(first).rejects.toThrow('EIO');
    await isOver(second);
    ends[1]?.();
    await second;
    const third = run('videos');
    expect(ends).toHaveLength(3);
    ends[2]?.();
    await third;
  });

  it('are apart for different keys', () => {
    const { run, ends } = world();
    void run('videos');
    void run('jobs');
    expect(ends).toHaveLength(2);
  });
});

it('a folder that somebody removed is made again', async () => {
  const folder = join(root, 'a/b');
  for (const name of ['first', 'second', 'third']) {
    const file = await inFolder(folder, () => open(join(folder, name), 'wx'));
    await file.close();
    if (name === 'second') await rm(join(root, 'a'), { recursive: true });
  }
});
