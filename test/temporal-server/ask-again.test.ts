import { ServiceError, type WorkflowQueryInput } from '@temporalio/client';
import { askAgain } from '../../src/temporal-server/test-server';

const input: WorkflowQueryInput = {
  workflowExecution: { workflowId: 'fox' },
  queryType: 'progress',
  args: [],
  headers: {},
};

/** As the SDK's client throws what the server answers. */
function grpcError(code: number): ServiceError {
  const cause = Object.assign(new Error('no'), { code, details: 'no', metadata: {} });
  return new ServiceError('Failed to query Workflow', { cause });
}
const LATE = grpcError(4);
const NOT_FOUND = grpcError(5);

/** Asks a server that gives these answers in turn. */
async function ask(...answers: unknown[]) {
  const deadlinesMs: number[] = [];
  const withDeadline = <T>(deadline: number | Date, call: () => Promise<T>): Promise<T> => {
    deadlinesMs.push(Number(deadline) - Date.now());
    return call();
  };
  const next = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const answer = await askAgain({ withDeadline })
    .query?.(input, next)
    .catch((error: unknown) => error);
  return { answer, deadlinesMs, left: answers.length };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('a query without an answer is asked again, each time with a deadline', async () => {
  const { answer, deadlinesMs } = await ask(LATE, LATE, 'waiting');
  expect(answer).toBe('waiting');
  expect(deadlinesMs).toEqual([3_000, 3_000, 3_000]);
});

test('it is asked ten times at most, because there may be no worker to answer', async () => {
  const { answer, left } = await ask(...Array.from({ length: 11 }, () => LATE));
  expect([answer, left]).toEqual([LATE, 1]);
});

test('what the server says about it is passed on at once', async () => {
  expect(await ask(NOT_FOUND, 'waiting')).toMatchObject({ answer: NOT_FOUND, left: 1 });
});
