import { mergeProfiles } from '../../src/service/propose-profile';

const inUse = { name: 'Foxes' };

it('a proposal without anything changes nothing', () => {
  expect(mergeProfiles(inUse, {})).toEqual(inUse);
});

it('what only one of two profiles has is in both together', () => {
  const states = { failed: ['P8'] };
  const read = { taskId: 'ticket.no' };
  expect(mergeProfiles(inUse, { states })).toEqual({ ...inUse, states });
  expect(mergeProfiles({ states }, inUse)).toEqual({ ...inUse, states });
  expect(mergeProfiles(inUse, { read })).toEqual({ ...inUse, read });
  expect(mergeProfiles({ read }, inUse)).toEqual({ ...inUse, read });
});

it('words for a state are added, and paths of a field are replaced', () => {
  expect(
    mergeProfiles(
      { read: { taskId: 'a', state: 'b' }, states: { failed: ['P8'], queued: ['P1'] } },
      { read: { state: 'c' }, states: { failed: ['P7'] } },
    ),
  ).toEqual({ read: { taskId: 'a', state: 'c' }, states: { failed: ['P8', 'P7'], queued: ['P1'] } });
});
