import { proposeProfile } from '../../src/service/propose-profile';
import { sample } from './answer-sample';
import { VIDEO } from './provider-answers';

const NOTHING = { profile: {}, notes: [] };

describe('of an answer with a status', () => {
  it.each([200, 299])('such as %d the state and its meaning are proposed', (status) => {
    expect(proposeProfile([sample({ phase: 'queued' }, { status })]).profile).toEqual({
      read: { state: 'phase' },
    });
    expect(proposeProfile([sample({ status: 'P9', video_url: VIDEO }, { status })]).profile).toEqual({
      states: { succeeded: ['P9'] },
    });
  });

  it.each([199, 300, 404, 500])('such as %d nothing of a task is proposed', (status) => {
    const body = { job_ref: 'j', phase: 'queued', pct: 5, clip: VIDEO };
    expect(proposeProfile([sample(body, { status })])).toEqual(NOTHING);
    expect(proposeProfile([sample({ status: 'P9', video_url: VIDEO }, { status })])).toEqual(NOTHING);
  });
});

it('a path is proposed that other answers have too, although they need not', () => {
  const answers = [
    sample({ slip: { job: 'j' } }, { call: 'submit' }),
    sample({ status: 'running', slip: { job: 'j' } }, { call: 'poll' }),
  ];
  expect(proposeProfile(answers).profile).toEqual({ read: { taskId: 'slip.job' } });
});

it('at most five paths are proposed for a field', () => {
  const answers = [...'abcdef'].map((letter) =>
    sample({ [`job_ref_${letter}`]: letter }, { call: 'submit' }),
  );
  expect(proposeProfile(answers).profile.read?.taskId).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((letter) => `job_ref_${letter}`),
  );
});
