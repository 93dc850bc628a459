import { describeExtra, extraKey, extraNamesIn, isExtras } from '../../src/contract/extras';

test.each([[[]], [['poster']], [['last-frame', 'poster']]])('%j are extras', (value) => {
  expect(isExtras(value)).toBe(true);
});

test.each([[['poster', 'sound']], [['poster', 'poster']], ['poster'], [null], [{ poster: true }]])(
  '%j are no extras',
  (value) => {
    expect(isExtras(value)).toBe(false);
  },
);

test.each([
  [{ poster: {} }, ['poster']],
  [{ 'last-frame': {}, poster: {}, sound: {} }, ['poster', 'last-frame']],
  [{}, []],
  [null, []],
  [undefined, []],
  ['poster', []],
])('the extras in %j are %j', (value, names) => {
  expect(extraNamesIn(value)).toEqual(names);
});

test('an extra lies beside its video and is described with its size', () => {
  const uri = `file:///videos/${extraKey('fox.mp4', 'poster')}`;
  const extra = { uri, bytes: 1, sha256: 'ab', contentType: 'image/png', width: 1280, height: 720 };
  expect(describeExtra('poster', extra)).toBe('poster 1280x720 at file:///videos/fox.mp4.poster.png');
});
