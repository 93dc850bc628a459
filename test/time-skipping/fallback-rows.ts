import type { FailureType } from '../../src/contract/failure-table';
import type { FallbackInput } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import type { Faults } from '../../src/testing';

export const REFUSED = (status: number) =>
  ({ kind: 'refused', status, code: 'foxes', message: 'no foxes' }) as const;
const SERVER_ERROR = (status: number) => ({ kind: 'server-error', status }) as const;
export const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

/** How a job ends: with the task of one of the services, held for a decision, or failed. */
export type End = 'a' | 'b' | 'held' | FailureType;

interface Row {
  /** What service a does with the submits. */
  faults: Faults['submit'][];
  /** Where a is, if not at its emulator. */
  at?: 'closed port' | 'impatient' | 'certain';
  input?: Partial<FallbackInput>;
  /** The POSTs that a and b get. */
  posts: [a: number, b: number];
  end: End;
}

/** Every way in which the submit to a can end. Only b is left after it. */
export const ROWS: Record<string, Row> = {
  'makes the task': { faults: [], posts: [1, 0], end: 'a' },
  'answers 400': { faults: [REFUSED(400)], posts: [1, 1], end: 'b' },
  'answers 401': { faults: [REFUSED(401)], posts: [1, 1], end: 'b' },
  'answers 404, as a wrong address does': { faults: [REFUSED(404)], posts: [1, 1], end: 'b' },
  'answers 422 to a new key': { faults: [REFUSED(422)], posts: [1, 1], end: 'b' },
  'answers 422 to a key of the caller, which it may know': {
    faults: [REFUSED(422)],
    input: { idempotencyKey: 'order-4711' },
    posts: [1, 0],
    end: 'held',
  },
  'answers 409': { faults: [REFUSED(409)], posts: [1, 0], end: 'held' },
  'answers 429 and asks for a short wait': {
    faults: [{ kind: 'rate-limited', retryAfter: 5 }],
    posts: [2, 0],
    end: 'a',
  },
  'answers 429 and asks for a long wait': {
    faults: [{ kind: 'rate-limited', retryAfter: 300 }],
    posts: [1, 1],
    end: 'b',
  },
  'answers 429 and asks for a wait that the job gives it': {
    faults: [{ kind: 'rate-limited', retryAfter: 300 }],
    input: { fallbackAfter: '10m' },
    posts: [2, 0],
    end: 'a',
  },
  'answers 503 once': { faults: [SERVER_ERROR(503)], posts: [2, 0], end: 'a' },
  // After 0, 2, 6, 14 and 30 seconds: the next retry would come after the minute.
  'answers 503 for longer than a minute': { faults: times(5, SERVER_ERROR(503)), posts: [5, 1], end: 'b' },
  // Half of the minute that both have: after 0, 2, 6 and 14 seconds.
  'answers 503, and the deadline is near': {
    faults: times(4, SERVER_ERROR(503)),
    input: { deadline: '1m' },
    posts: [4, 1],
    end: 'b',
  },
  // The task may exist behind the 500, and only this service knows the idempotency key.
  'answers 500 for longer than a minute': { faults: times(6, SERVER_ERROR(500)), posts: [7, 0], end: 'a' },
  // After 0, 2, 6, 14, 30 and 62 seconds, as without another service.
  'answers 500 until the deadline': {
    faults: times(5, SERVER_ERROR(500)),
    input: { deadline: '1m' },
    posts: [5, 0],
    end: 'ServiceFailed',
  },
  'answers 500, and then refuses': {
    faults: [SERVER_ERROR(500), REFUSED(401)],
    posts: [2, 0],
    end: 'Unauthorized',
  },
  'answers 500, and then asks for a long wait': {
    faults: [SERVER_ERROR(500), { kind: 'rate-limited', retryAfter: 300 }],
    posts: [3, 0],
    end: 'a',
  },
  'answers a status that nobody knows': { faults: [REFUSED(799)], posts: [1, 0], end: 'AnswerUnreadable' },
  'answers 500, after which it has no task, as its profile says': {
    faults: times(5, SERVER_ERROR(500)),
    at: 'certain',
    posts: [5, 1],
    end: 'b',
  },
  'answers 502, as a proxy does that lost the answer': {
    faults: [SERVER_ERROR(502)],
    posts: [1, 0],
    end: 'held',
  },
  'cannot be reached': { faults: [], at: 'closed port', posts: [0, 1], end: 'b' },
  'cuts the connection after the request': { faults: [{ kind: 'reset' }], posts: [1, 0], end: 'held' },
  'answers what nobody can read': { faults: [{ kind: 'bad-json' }], posts: [1, 0], end: 'held' },
  'does not answer in time': { faults: [{ kind: 'hang' }], at: 'impatient', posts: [1, 0], end: 'held' },
  'loses the answer, and the job may not be held': {
    faults: [{ kind: 'reset' }],
    input: { onLostSubmit: 'fail' },
    posts: [1, 0],
    end: 'SubmitUnconfirmed',
  },
  'loses the answer, and refuses the resubmit of the policy': {
    faults: [{ kind: 'reset' }, REFUSED(401)],
    input: { onLostSubmit: 'resubmit' },
    posts: [2, 0],
    end: 'Unauthorized',
  },
  'loses the answer, and is busy when the policy resubmits': {
    faults: [{ kind: 'reset' }, { kind: 'rate-limited', retryAfter: 300 }],
    input: { onLostSubmit: 'resubmit' },
    posts: [3, 0],
    end: 'a',
  },
  'refuses the content': {
    faults: [{ kind: 'refused-content', stage: 'prompt' }],
    posts: [1, 0],
    end: 'ContentRefused',
  },
  'may not be paid for it': { faults: [], input: { cap: { seconds: 1 } }, posts: [0, 0], end: 'CapReached' },
  'would get a request that our own check refuses': {
    faults: [],
    input: { request: { prompt: 'A red fox', aspectRatio: '16:9' } as object as VideoRequest },
    posts: [0, 0],
    end: 'InvalidRequest',
  },
};
