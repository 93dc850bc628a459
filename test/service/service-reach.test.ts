import { ServiceFault, ServiceReach, type VideoService } from '../../src/service';

function watched(answers: (() => Promise<never>)[]) {
  let now = 0;
  const reach = new ServiceReach(() => now);
  const answer = () => answers.shift()?.() ?? Promise.reject(new Error('no answer left'));
  const silent: VideoService = { start: answer, status: answer, open: answer, cancel: answer };
  const service = reach.watch(silent);
  return {
    reach,
    call: () => service.status('task').catch(() => undefined),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const fault =
  (kind: ServiceFault['kind'], facts: ServiceFault['facts'] = {}) =>
  () =>
    Promise.reject(new ServiceFault(kind, facts));

test('a call says whether the service answers, by a code alone', async () => {
  const { reach, call } = watched([
    fault('not-sent', { code: 'ECONNREFUSED', message: 'at 10.0.0.1' }),
    fault('cut'),
    fault('answered', { status: 500 }),
  ]);
  expect(reach.problem).toBeUndefined();
  await call();
  expect(reach.problem).toBe('no answer (ECONNREFUSED)');
  await call();
  expect(reach.problem).toBe('no answer (cut)');
  await call();
  expect(reach.problem).toBeUndefined();
});

test('a failed call within a minute of an answer is chance, and afterwards it is not', async () => {
  const { reach, call, pass } = watched([
    fault('answered', { status: 200 }),
    fault('cut'),
    fault('answered', { status: 200 }),
  ]);
  await call();
  pass(30_000);
  await call();
  expect(reach.problem).toBeUndefined();
  pass(31_000);
  expect(reach.problem).toBe('no answer (cut)');
  await call();
  expect(reach.problem).toBeUndefined();
});

test('a failed call counts for five minutes: a worker without jobs makes no other', async () => {
  const { reach, call, pass } = watched([fault('cut')]);
  await call();
  pass(299_000);
  expect(reach.problem).toBe('no answer (cut)');
  pass(2_000);
  expect(reach.problem).toBeUndefined();
});

test('a service that limits or refuses calls is reachable, and an error that is not about it changes nothing', async () => {
  const { reach, call } = watched([
    fault('answered', { status: 429, limited: true }),
    fault('answered', { status: 401 }),
    fault('unreadable'),
    () => Promise.reject(new Error('cancelled')),
  ]);
  for (let calls = 0; calls < 4; calls++) {
    await call();
    expect(reach.problem).toBeUndefined();
  }
});
