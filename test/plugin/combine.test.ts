import { combine } from '../../src/worker/combine-workflows';

const own = async () => 1;
const generateVideo = async () => 2;
const other = async () => 3;
const OURS = { generateVideo, progress: 'a query' };

test('a host keeps all its exports, and of ours only the workflows are added', () => {
  const host = { own, default: other, progress: 'its own query' };
  expect(combine(host, OURS)).toEqual({ ...host, generateVideo });
});

test('a host may export our workflow, or another kind of thing with its name', () => {
  expect(combine({ own, generateVideo }, OURS)).toEqual({ own, generateVideo });
  expect(combine({ generateVideo: 'no workflow' }, OURS)).toEqual({ generateVideo });
});

test('a workflow with the name of ours is refused, even if it calls ours', () => {
  const refused =
    'Your worker and temporal-videogen both have the workflow generateVideo: rename or remove your own.';
  expect(() => combine({ generateVideo: other }, OURS)).toThrow(refused);
  expect(() => combine({ default: other, generateVideo: () => generateVideo() }, OURS)).toThrow(refused);
});
