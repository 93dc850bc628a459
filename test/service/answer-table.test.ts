import { FAILURES } from '../../src/contract/failure-table';
import {
  type AnsweredCall,
  failureOfStatus,
  isCertainRefusal,
  mayRefuseContent,
} from '../../src/service/answer-table';

it.each([400, 403, 410, 422, 451, 499])('HTTP %d may refuse the content of a request', (status) => {
  expect(mayRefuseContent(status)).toBe(true);
});

it.each([200, 302, 399, 401, 402, 404, 405, 408, 409, 429, 500, 503])(
  'HTTP %d never refuses the content of a request',
  (status) => {
    expect(mayRefuseContent(status)).toBe(false);
  },
);

it.each([300, 307, 399, 400, 429, 499, 503, 529])('HTTP %d says that no task was made', (status) => {
  expect(isCertainRefusal(status)).toBe(true);
});

it.each([200, 299, 500, 502, 504, 524, 599])('after HTTP %d a task may have been made', (status) => {
  expect(isCertainRefusal(status)).toBe(false);
});

it.each<[AnsweredCall, number, string]>([
  ['submit', 418, 'InvalidRequest'],
  ['submit', 422, 'InvalidRequest'],
  ['resubmit', 422, 'SubmitUnconfirmed'],
  ['submit', 307, 'AnswerUnreadable'],
  ['submit', 303, 'SubmitUnconfirmed'],
  ['submit', 503, 'ServiceFailed'],
  ['submit', 504, 'SubmitUnconfirmed'],
  ['poll', 404, 'TaskUnknown'],
  ['poll', 418, 'AnswerUnreadable'],
  ['poll', 599, 'ServiceFailed'],
  ['download', 499, 'VideoUnavailable'],
  ['download', 429, 'RateLimited'],
  ['download', 101, 'AnswerUnreadable'],
])('a %s that is answered with HTTP %d fails as %s', (call, status, failure) => {
  expect(failureOfStatus(call, status)).toBe(failure);
});

test('the failures that lead to the next service certainly made no task, and none is about the content, a cap or our storage', () => {
  const rows = Object.entries(FAILURES);
  const leading = rows.filter(([, { fallsBack }]) => fallsBack !== undefined);
  expect(leading.map(([type, { fallsBack }]) => `${type} ${fallsBack}`)).toEqual([
    'InvalidRequest if-answered',
    'Unauthorized always',
    'RateLimited always',
    'ServiceFailed always',
    'ServiceUnreachable always',
    'AnswerUnreadable always',
  ]);
  for (const [, { retry }] of leading) expect(['never', 'policy']).toContain(retry.submit);
});
