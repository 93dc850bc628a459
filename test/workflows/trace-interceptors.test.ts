import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { ContinueAsNew, type WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';
import type { EndedRun } from '../../src/contract/trace-context';
import { parseTraceparent, TRACE_HEADER } from '../../src/contract/trace-context';
import { createFailure } from '../../src/contract/video-failure';
import { traceInterceptors } from '../../workflows/trace-interceptors';

const INFO = {
  namespace: 'default',
  workflowId: 'fox',
  firstExecutionRunId: 'run-1',
  runStartTime: new Date(1_750_000_000_000),
};
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const headerOf = (value: unknown) => ({
  [TRACE_HEADER]: defaultPayloadConverter.toPayload(value) as Payload,
});

/** A run whose start had these headers, and what it told when it ended. */
function run(headers: Record<string, Payload>, running: Promise<unknown> = new Promise(() => undefined)) {
  const ended: EndedRun[] = [];
  const { inbound, outbound } = traceInterceptors(INFO, (told) => ended.push(told));
  const [{ execute } = {}] = inbound;
  const calls: WorkflowOutboundCallsInterceptor = Object(outbound[0]);
  const result = execute?.({ headers, args: [] }, () => running);
  return { result, calls, ended };
}

/** The trace that an activity gets. */
function traceOf({ calls }: ReturnType<typeof run>): string {
  let sent: unknown;
  const input = { activityType: 'submitVideo', headers: {} };
  calls.scheduleActivity?.(
    input as never,
    ((given: { headers: Record<string, Payload> }) => {
      sent = given.headers[TRACE_HEADER];
      return Promise.resolve();
    }) as never,
  );
  return (defaultPayloadConverter.fromPayload(sent as Payload) as { traceparent: string }).traceparent;
}

it('hands on the trace of the caller', () => {
  expect(traceOf(run(headerOf({ traceparent: PARENT })))).toBe(PARENT);
});

it.each([
  ['no header', {}],
  ['another value', headerOf({ traceparent: `${PARENT}-more` })],
  ['no trace', headerOf({})],
  ['a number', headerOf(7)],
  ['a trace of zeros', headerOf({ traceparent: PARENT.replace(/[0-9a-f]{32}/, '0'.repeat(32)) })],
  ['bytes that are no JSON', { [TRACE_HEADER]: { metadata: {}, data: new Uint8Array([255]) } }],
])('makes a trace of its own, the same in every replay, for a start with %s', (_, headers) => {
  const own = traceOf(run(headers));
  expect(parseTraceparent(own)).toBeDefined();
  expect(own).not.toContain(parseTraceparent(PARENT)?.traceId);
  expect(traceOf(run(headers))).toBe(own);
});

it('hands it on to polls, webhooks and the next run too', () => {
  const { calls } = run(headerOf({ traceparent: PARENT }));
  const sent = [calls.scheduleLocalActivity, calls.startChildWorkflowExecution, calls.continueAsNew].map(
    (call) => {
      let headers: Record<string, Payload> = {};
      const next = (given: { headers: typeof headers }) => {
        headers = given.headers;
      };
      (call as CallableFunction)({ activityType: 'pollVideo', headers: {} }, next);
      return headers;
    },
  );
  expect(sent).toEqual(sent.map(() => headerOf({ traceparent: PARENT })));
});

// The SDK resolves a promise of a workflow in the turn of its event. One turn more, and two events of the same task would lead
// to the same commands in another order than in a worker without tracing.
it('adds no turn to a workflow: it returns the very promise of the SDK', () => {
  const promise = Promise.resolve();
  const { result, calls } = run({}, promise);
  expect(result).toBe(promise);
  const outbound = Object.entries(calls).filter(([name]) => name !== 'getLogAttributes');
  expect(outbound.map(([name]) => name).sort()).toEqual([
    'continueAsNew',
    'scheduleActivity',
    'scheduleLocalActivity',
    'startChildWorkflowExecution',
  ]);
  const input = { activityType: 'pollVideo', headers: {} };
  for (const [, call] of outbound) expect((call as CallableFunction)(input, () => promise)).toBe(promise);
});

it.each([
  ['succeeded', Promise.resolve(), {}],
  ['failed', Promise.reject(createFailure('NoVideo')), { failureType: 'NoVideo' }],
  ['failed', Promise.reject(new TypeError('MARKED')), {}],
  ['continued-as-new', Promise.reject(new ContinueAsNew({} as never)), {}],
])('tells that the run has %s', async (outcome, running, more) => {
  const { result, ended } = run(headerOf({ traceparent: PARENT }), running);
  await result?.catch(() => undefined);
  expect(ended).toEqual([
    {
      traceparent: PARENT,
      isRoot: false,
      startedAtMs: 1_750_000_000_000,
      endedAtMs: expect.any(Number),
      outcome,
      polls: 0,
      failureType: undefined,
      ...more,
    },
  ]);
});
