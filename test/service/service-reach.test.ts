import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceFault, ServiceReach, type VideoService } from '../../src/service';
import { freePort } from '../../src/temporal-server/loopback-port';

const ADDRESS = 'http://service.example/';

function watched(answers: (() => Promise<never>)[]) {
  let now = 0;
  const probes: string[] = [];
  let probeFails = false;
  const reach = new ServiceReach(
    () => now,
    async (address) => {
      probes.push(address);
      if (probeFails) throw Object.assign(new Error('at 10.0.0.1'), { code: 'ECONNREFUSED' });
    },
  );
  const answer = () => answers.shift()?.() ?? Promise.reject(new Error('no answer left'));
  const silent: VideoService = {
    start: answer,
    status: answer,
    open: answer,
    cancel: answer,
  };
  const service = reach.watch(silent);
  return {
    reach,
    probes,
    call: () => service.status('task').catch(() => undefined),
    pass: (ms: number) => {
      now += ms;
    },
    failProbes: () => {
      probeFails = true;
    },
  };
}

const fault =
  (kind: ServiceFault['kind'], facts: ServiceFault['facts'] = {}) =>
  () =>
    Promise.reject(new ServiceFault(kind, facts));

test('a call says whether the service answers, without a probe', async () => {
  const { reach, probes, call, pass } = watched([
    fault('not-sent', { code: 'ECONNREFUSED', message: 'at 10.0.0.1' }),
    fault('cut'),
    fault('answered', { status: 500 }),
  ]);
  await call();
  expect(await reach.current(ADDRESS)).toEqual({
    reachable: false,
    since: 0,
    reason: 'no answer (ECONNREFUSED)',
  });
  pass(1_000);
  await call();
  expect(await reach.current(ADDRESS)).toMatchObject({ reachable: false, since: 0 });
  await call();
  expect(await reach.current(ADDRESS)).toEqual({ reachable: true, since: 1_000 });
  expect(probes).toEqual([]);
});

test('a failed call within a minute of an answer is chance, and afterwards it is not', async () => {
  const { reach, call, pass, failProbes } = watched([
    fault('answered', { status: 200 }),
    fault('cut'),
    fault('answered', { status: 200 }),
  ]);
  await call();
  pass(30_000);
  await call();
  expect(await reach.current(ADDRESS)).toEqual({ reachable: true, since: 0 });
  failProbes();
  pass(31_000);
  expect(await reach.current(ADDRESS)).toMatchObject({ reachable: false, since: 30_000 });
  await call();
  expect(await reach.current(ADDRESS)).toEqual({ reachable: true, since: 61_000 });
});

test('a service that limits or refuses calls is reachable', async () => {
  const { reach, call } = watched([
    fault('answered', { status: 429, limited: true }),
    fault('answered', { status: 401 }),
    fault('unreadable'),
  ]);
  for (let calls = 0; calls < 3; calls++) {
    await call();
    expect(await reach.current(ADDRESS)).toMatchObject({ reachable: true });
  }
});

test('after a minute without an answer the service is probed, once for all who ask, and again after ten seconds', async () => {
  const { reach, probes, call, pass, failProbes } = watched([fault('answered', { status: 200 })]);
  await call();
  pass(59_000);
  await reach.current(ADDRESS);
  expect(probes).toEqual([]);
  pass(2_000);
  failProbes();
  const answers = await Promise.all([reach.current(ADDRESS), reach.current(ADDRESS)]);
  expect(probes).toEqual([ADDRESS]);
  expect(answers[1]).toEqual({ reachable: false, since: 61_000, reason: 'no answer (ECONNREFUSED)' });
  pass(9_000);
  await reach.current(ADDRESS);
  expect(probes).toHaveLength(1);
  pass(2_000);
  expect(await reach.current(ADDRESS)).toMatchObject({ reachable: false, since: 61_000 });
  expect(probes).toHaveLength(2);
});

test('an error that is not about the service changes nothing, and a service without an address is not probed', async () => {
  const { reach, probes, call } = watched([() => Promise.reject(new Error('cancelled'))]);
  await call();
  expect(await reach.current(undefined)).toMatchObject({ reachable: true });
  expect(probes).toEqual([]);
});

test('any answer to the probe will do, and the key is not sent', async () => {
  const asked: unknown[] = [];
  const server = createServer((request, reply) => {
    asked.push([request.method, request.url, request.headers.authorization]);
    reply.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await new ServiceReach().current(`http://127.0.0.1:${port}/api/`)).toMatchObject({
    reachable: true,
  });
  expect(asked).toEqual([['HEAD', '/api/', undefined]]);
  await new Promise((resolve) => server.close(resolve));
  const nobody = `http://127.0.0.1:${await freePort()}/`;
  expect(await new ServiceReach().current(nobody)).toMatchObject({
    reachable: false,
    reason: 'no answer (ECONNREFUSED)',
  });
});
