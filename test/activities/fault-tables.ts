import type { FailureType } from '../../src/contract/failure-table';
import type { Fault } from './faulty-service';

/** How a submit ends after a fault. `tasks` counts those at the service, which a user pays for. */
export interface Course {
  posts: number;
  tasks: number;
  ends: 'task' | FailureType;
}

export const COURSES = {
  '2/1 task': { posts: 2, tasks: 1, ends: 'task' },
  '2/2 task': { posts: 2, tasks: 2, ends: 'task' },
  '1/1 lost': { posts: 1, tasks: 1, ends: 'SubmitUnconfirmed' },
  '1/0 lost': { posts: 1, tasks: 0, ends: 'SubmitUnconfirmed' },
  '1/0 refused': { posts: 1, tasks: 0, ends: 'InvalidRequest' },
} as const satisfies Record<string, Course>;

export type CourseName = keyof typeof COURSES;

/**
 * The fault of the first submit, the failure of that attempt, and how the submit continues as POSTs / tasks and its end:
 * with the policies `hold` and `fail`, and with `resubmit`.
 *
 * "Reset before bytes" is a connection that is reset before the request begins. With "reset unread" the request has
 * left; the client cannot know that the server did not read it, so the submit counts as lost.
 */
// biome-ignore format: a table is read by its columns.
export const SUBMITS: [fault: Fault, failure: FailureType, otherwise: CourseName, resubmit: CourseName][] = [
  ['refused',            'ServiceUnreachable', '2/1 task',    '2/1 task'],
  ['reset before bytes', 'ServiceUnreachable', '2/1 task',    '2/1 task'],
  ['reset unread',       'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  ['reset after bytes',  'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['cut in headers',     'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['cut in body',        'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['hang',               'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  [429,                  'RateLimited',        '2/1 task',    '2/1 task'],
  [500,                  'ServiceFailed',      '2/1 task',    '2/1 task'],
  [409,                  'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  [303,                  'SubmitUnconfirmed',  '1/0 lost',    '2/1 task'],
  [422,                  'InvalidRequest',     '1/0 refused', '1/0 refused'],
  ['bad JSON',           'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
  ['empty 200',          'SubmitUnconfirmed',  '1/1 lost',    '2/2 task'],
];

/** The fault of the first poll or connection, and the failure of that attempt, unless it recovers by itself. */
// biome-ignore format: a table is read by its columns.
export const LATER: [fault: Fault, call: 'poll' | 'download', failure: FailureType | 'recovered'][] = [
  ['refused',            'poll',     'ServiceUnreachable'],
  ['reset before bytes', 'poll',     'ServiceUnreachable'],
  ['reset unread',       'poll',     'ServiceUnreachable'],
  ['reset after bytes',  'poll',     'ServiceUnreachable'],
  ['cut in headers',     'poll',     'ServiceUnreachable'],
  ['cut in body',        'poll',     'ServiceUnreachable'],
  ['hang',               'poll',     'ServiceUnreachable'],
  [429,                  'poll',     'RateLimited'],
  [500,                  'poll',     'ServiceFailed'],
  [409,                  'poll',     'AnswerUnreadable'],
  [303,                  'poll',     'AnswerUnreadable'],
  [422,                  'poll',     'AnswerUnreadable'],
  ['bad JSON',           'poll',     'AnswerUnreadable'],
  ['empty 200',          'poll',     'AnswerUnreadable'],

  ['refused',            'download', 'ServiceUnreachable'],
  ['reset before bytes', 'download', 'ServiceUnreachable'],
  ['reset unread',       'download', 'recovered'],
  ['reset after bytes',  'download', 'recovered'],
  ['cut in headers',     'download', 'recovered'],
  ['cut in body',        'download', 'recovered'],
  ['hang',               'download', 'recovered'],
  [429,                  'download', 'RateLimited'],
  [500,                  'download', 'ServiceFailed'],
  [409,                  'download', 'VideoUnavailable'],
  [303,                  'download', 'VideoUnavailable'],
  [422,                  'download', 'VideoUnavailable'],
  ['bad JSON',           'download', 'VideoCorrupt'],
  ['empty 200',          'download', 'VideoCorrupt'],
];
