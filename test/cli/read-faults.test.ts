import { describeFaults, readFaults } from '../../src/cli/read-faults';
import { ConfigError } from '../../src/config/service-config';
import { FAULTS } from '../../src/testing/faults';

test('faults are read in order, with their repetitions', () => {
  expect(readFaults([])).toEqual([]);
  expect(readFaults(['submit:rate-limited', 'status:server-errorx2', 'download:resetx1'])).toEqual([
    { call: 'submit', fault: { kind: 'rate-limited', retryAfter: 2 } },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'status', fault: { kind: 'server-error' } },
    { call: 'download', fault: { kind: 'reset' } },
  ]);
});

test.each(['hang', 'cut-headers', 'cut-body', 'bad-json', 'empty'])('%s has no parameters', (kind) => {
  expect(readFaults([`submit:${kind}`])).toEqual([{ call: 'submit', fault: { kind } }]);
});

test.each([
  ['submit:late', { kind: 'late', ms: 1_000 }],
  ['submit:reset-late', { kind: 'reset-late', ms: 1_000 }],
  ['status:not-found', { kind: 'refused', status: 404, code: 'not_found', message: 'no such task' }],
  [
    'submit:refused',
    { kind: 'refused', status: 400, code: 'invalid_request', message: 'the prompt is not allowed' },
  ],
  [
    'submit:unauthorized',
    { kind: 'refused', status: 401, code: 'unauthorized', message: 'the API key is not valid' },
  ],
  [
    'status:failed-task',
    {
      kind: 'failed-task',
      code: 'generation_failed',
      message: 'the model could not finish the video',
    },
  ],
  ['status:no-video', { kind: 'no-video' }],
  ['status:unknown-state', { kind: 'unknown-state', word: 'brewing' }],
  ['download:cut', { kind: 'cut', afterBytes: 1_000 }],
  ['download:stall', { kind: 'stall', afterBytes: 1_000 }],
  ['download:web-page', { kind: 'web-page' }],
])('%s is read for its call, with its parameters', (text, fault) => {
  expect(readFaults([text])).toEqual([{ call: text.replace(/:.*/, ''), fault }]);
});

test('a fault of another call is refused with the faults of the call', () => {
  expect(() => readFaults(['submit:cut'])).toThrow(
    /empty, late, reset-late, refused, unauthorized, failed-task, refused-prompt, refused-image, refused-output\.$/,
  );
  expect(() => readFaults(['download:no-video'])).toThrow(/late, cut, stall, web-page\.$/);
});

test('the help lists the faults of each call', () => {
  const text = describeFaults();
  expect(text).toContain('\n  submit    rate-limited server-error reset hang cut-headers');
  expect(text).toContain('failed-task not-found unknown-state no-video\n');
});

test('the help says what each fault does, and which of them lose a submit', () => {
  const [kinds = '', lost = ''] = describeFaults().split('These lose a submit');
  for (const name of Object.keys(FAULTS)) expect(kinds).toMatch(new RegExp(`^  ${name} +\\w.*$`, 'm'));
  expect(lost).toMatch(/\n {2}reset hang cut-headers cut-body bad-json empty reset-late$/);
});

test.each([
  '',
  'submit',
  'submit:',
  'pay:reset',
  'cancel:reset',
  'retrieve:reset',
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
