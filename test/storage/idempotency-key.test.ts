import { createHash } from 'node:crypto';
import { digestOfJob } from '../../src/storage';

const FOX = { namespace: 'default', job: 'fox' };
const request = { prompt: 'A red fox', duration: 5, seed: 7 };

// A worker of the next version must find the task of a submit that one of this version lost.
it('what identifies a job is the same in every version', () => {
  const material = '["default","fox",[["duration",5],["prompt","A red fox"],["seed",7]]]';
  expect(digestOfJob(FOX, request)).toBe(createHash('sha256').update(material).digest('hex'));
});

it.each([
  ['another way round', { seed: 7, duration: 5, prompt: 'A red fox' }],
  ['in another order', { duration: 5, seed: 7, prompt: 'A red fox' }],
])('is the same for the fields of the request %s', (_how, same) => {
  expect(digestOfJob(FOX, same)).toBe(digestOfJob(FOX, request));
});

it('is different in another namespace, for another job and for another request', () => {
  const all = [
    digestOfJob(FOX, request),
    digestOfJob({ ...FOX, namespace: 'other' }, request),
    digestOfJob({ ...FOX, job: 'owl' }, request),
    digestOfJob(FOX, { ...request, seed: 8 }),
  ];
  expect(new Set(all).size).toBe(4);
});
