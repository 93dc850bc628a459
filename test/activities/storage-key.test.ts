import { storageKey } from '../../activities/storage-key';

describe('the place of a video', () => {
  it.each([
    ['a plain id', undefined, 'job-1', 'job-1.mp4'],
    ['an id with slashes', undefined, 'team/a/../b', 'team%2Fa%2F..%2Fb.mp4'],
    ['an id of dots', undefined, '..', '%2E..mp4'],
    ['an id that would be hidden', undefined, '.job', '%2Ejob.mp4'],
    ['an id with a zero byte', undefined, 'a\0b', 'a%00b.mp4'],
    ['an id of another script', undefined, '狐', '%E7%8B%90.mp4'],
    ['a prefix', 'foxes/', 'a/b', 'foxes/a%2Fb.mp4'],
    ['an empty place', '', 'job-1', 'job-1.mp4'],
    ['a key, whatever the id', 'foxes/red.webm', 'job-1', 'foxes/red.webm'],
  ])('is named after %s', (_what, place, workflowId, key) => {
    expect(storageKey(place, workflowId, 'video/mp4')).toBe(key);
  });

  it('is another for another id, however long they are and however late they part', () => {
    const names = ['a', 'b'].map((end) => storageKey(undefined, `${'x'.repeat(2_000)}${end}`, 'video/mp4'));
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(210);
  });
});
