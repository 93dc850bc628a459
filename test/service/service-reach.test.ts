import { ServiceFault, ServiceReach } from '../../src/service';

function watched(answers: ServiceFault[]) {
  let now = 0;
  const reach = new ServiceReach(() => now);
  return {
    reach,
    call: () => {
      const answer = answers.shift();
      if (answer) reach.recordFault(answer);
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const fault = (kind: ServiceFault['kind'], facts: ServiceFault['facts'] = {}) =>
  new ServiceFault(kind, facts);

test('a call says whether the service answers, by a code alone', () => {
  const { reach, call } = watched([
    fault('not-sent', { code: 'ECONNREFUSED', message: 'at 10.0.0.1' }),
    fault('cut'),
    fault('answered', { status: 500 }),
  ]);
  expect(reach.problem).toBeUndefined();
  call();
  expect(reach.problem).toBe('no answer (ECONNREFUSED)');
  call();
  expect(reach.problem).toBe('no answer (cut)');
  call();
  expect(reach.problem).toBeUndefined();
});

test('a failed call within a minute of an answer is chance, and afterwards it is not', () => {
  const { reach, call, pass } = watched([
    fault('answered', { status: 200 }),
    fault('cut'),
    fault('answered', { status: 200 }),
  ]);
  call();
  pass(30_000);
  call();
  expect(reach.problem).toBeUndefined();
  pass(31_000);
  expect(reach.problem).toBe('no answer (cut)');
  call();
  expect(reach.problem).toBeUndefined();
});

test('a failed call counts for five minutes: a worker without jobs makes no other', () => {
  const { reach, call, pass } = watched([fault('cut')]);
  call();
  pass(299_000);
  expect(reach.problem).toBe('no answer (cut)');
  pass(2_000);
  expect(reach.problem).toBeUndefined();
});

test('a service that limits or refuses calls is reachable', () => {
  const { reach, call } = watched([
    fault('answered', { status: 429, limited: true }),
    fault('answered', { status: 401 }),
    fault('unreadable'),
  ]);
  for (let calls = 0; calls < 3; calls++) {
    call();
    expect(reach.problem).toBeUndefined();
  }
});
