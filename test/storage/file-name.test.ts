import { fileName } from '../../src/storage';

test('an id of up to 200 characters is its own file name', () => {
  expect(fileName('fox-1')).toBe('fox-1');
  expect(fileName('x'.repeat(200))).toBe('x'.repeat(200));
});

test('a longer id is cut and gets a digest, the same in every version: files are found by it', () => {
  expect(fileName('x'.repeat(201))).toBe(`${'x'.repeat(167)}-84a0678c90937f5dcf9994d5866668da`);
  expect(fileName(`${'x'.repeat(200)}y`)).not.toBe(fileName('x'.repeat(201)));
});

test('no id leads into another folder, or to a hidden file', () => {
  expect(fileName('../a/b.c')).toBe('%2E.%2Fa%2Fb.c');
  expect(fileName('a.b')).toBe('a.b');
});
