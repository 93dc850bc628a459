import { readFaults } from '../../src/cli/read-faults';
import { ConfigError } from '../../src/config';

test('faults are read in order, repeated as often as they say', () => {
  expect(readFaults([])).toEqual([]);
  expect(readFaults(['submit:rate-limited', 'status:server-errorx2', 'download:resetx1'])).toEqual([
    { call: 'submit', fault: { kind: 'rate-limited', retryAfter: 2 } },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'download', fault: { kind: 'reset' } },
  ]);
});

test.each(['hang', 'cut-headers', 'cut-body', 'bad-json', 'empty', 'empty-accepted'])(
  '%s needs no further word',
  (kind) => {
    expect(readFaults([`submit:${kind}`])).toEqual([{ call: 'submit', fault: { kind } }]);
  },
);

test.each([
  '',
  'submit',
  'submit:',
  'pay:reset',
  'cancel:reset',
  'submit:explode',
  'submit:resetx',
  'submit:reset x2',
  'submit:toString',
])('%j is refused with the choices', (text) => {
  const read = () => readFaults(['submit:reset', text]);
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(
    /^--fault is ".*": give CALL:KIND or CALL:KINDxTIMES with CALL one of submit, status, download and KIND one of rate-limited, .*\.$/,
  );
});
