import { keyMaterial } from '../../src/storage/job-record';

const request = { prompt: 'A red fox', duration: 5, seed: 7 };

// A worker of the next version must find the task of a submit that one of this version lost.
it('what identifies a job is the same in every version', () => {
  expect(keyMaterial('default', 'fox', request)).toBe(
    '["default","fox",[["duration",5],["prompt","A red fox"],["seed",7]]]',
  );
});

it.each([
  ['another way round', { seed: 7, duration: 5, prompt: 'A red fox' }],
  ['in another order', { duration: 5, seed: 7, prompt: 'A red fox' }],
])('is the same for the fields of the request %s', (_how, same) => {
  expect(keyMaterial('default', 'fox', same)).toBe(keyMaterial('default', 'fox', request));
});

it('is different in another namespace, for another job and for another request', () => {
  const all = [
    keyMaterial('default', 'fox', request),
    keyMaterial('other', 'fox', request),
    keyMaterial('default', 'owl', request),
    keyMaterial('default', 'fox', { ...request, seed: 8 }),
  ];
  expect(new Set(all).size).toBe(4);
});
