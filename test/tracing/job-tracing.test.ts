import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { WorkerOptions } from '@temporalio/worker';
import { createFailure } from '../../src/contract/video-failure';
import { createVideoService } from '../../src/service';
import { annotateSpan, traceHeaders, tracePoll } from '../../src/tracing/active-span';
import { openTracing } from '../../src/tracing/open-tracing';
import { PollSpans } from '../../src/tracing/poll-spans';
import { ATTRIBUTES } from '../../src/tracing/span-facts';
import { startExporting } from '../../src/tracing/start-exporting';
import { withTracing } from '../../src/worker/trace-worker';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
const PARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const tracing = openTracing();
if (tracing === undefined) throw new Error('OpenTelemetry is not installed.');

beforeEach(() => exporter.reset());

const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
/** All that is exported of a span, except for the times. */
const textOf = ({ name, attributes, events, status, links }: ReadableSpan) =>
  JSON.stringify({ name, attributes, events, status, links });

describe('a span', () => {
  const job = { name: 'RunActivity:submitVideo', kind: 'internal', facts: { workflowId: 'fox' } } as const;

  it('belongs to the span of its caller, and has what the calls inside of it found', async () => {
    await tracing.span({ ...job, parent: CALLER }, async () => annotateSpan({ httpStatus: 202 }));
    expect(spans()).toHaveLength(1);
    const [span] = spans();
    expect(span?.parentSpanContext).toMatchObject({ traceId: CALLER.traceId, spanId: CALLER.spanId });
    expect(span?.attributes).toEqual({ temporalWorkflowId: 'fox', 'http.response.status_code': 202 });
  });

  it.each([
    [
      'of ours',
      createFailure('InvalidRequest', { message: 'the prompt MARKED is refused' }),
      'The request was refused',
    ],
    ['of a library', new TypeError('https://cdn.example.com/MARKED?sig=MARKED'), 'TypeError'],
    ['that is no error', 'MARKED', 'string'],
  ])(
    'of work that fails with an error %s has the type and no word of the message',
    async (_, error, message) => {
      await expect(tracing.span(job, () => Promise.reject(error))).rejects.toBe(error);
      const [span] = spans();
      expect(span?.status).toEqual({ code: 2, message });
      expect(textOf(span as ReadableSpan)).not.toContain('MARKED');
    },
  );

  it('has no control character, and no attribute beyond the list', async () => {
    const hostile = { workflowId: 'fox\u001b[2J\nnext', prompt: 'MARKED', state: 'x'.repeat(5_000) };
    await tracing.span({ ...job, facts: hostile }, async () => undefined);
    const { attributes } = spans()[0] as ReadableSpan;
    expect(Object.keys(attributes).filter((name) => !Object.values(ATTRIBUTES).includes(name))).toEqual([]);
    expect(attributes.temporalWorkflowId).toBe('fox next');
    expect(String(attributes['videogen.state'])).toHaveLength(1_000);
  });
});

describe('polls', () => {
  it('have a span when their answer differs from the one before: six of 50,000', async () => {
    const states = ['queued', ...Array(25_000).fill('running'), 'unknown', ...Array(24_996).fill('running')];
    await tracing.within(CALLER, async () => {
      for (const state of states) await tracePoll('vid_1', async () => ({ state }));
      const failed = tracePoll('vid_1', () => Promise.reject(createFailure('RateLimited')));
      await expect(failed).rejects.toThrow();
      await tracePoll('vid_1', async () => ({ state: 'succeeded' }));
    });
    const answers = spans().map(
      ({ attributes }) => attributes['videogen.state'] ?? attributes['videogen.failure_type'],
    );
    expect(answers).toEqual(['queued', 'running', 'unknown', 'running', 'RateLimited', 'succeeded']);
    expect(new Set(spans().map(({ parentSpanContext }) => parentSpanContext?.spanId))).toEqual(
      new Set([CALLER.spanId]),
    );
  });

  it('of a service that alternates have 32 spans, and one for the end', () => {
    const polls = new PollSpans();
    const worth = Array.from({ length: 10_000 }, (_, index) =>
      polls.isWorthSpan('vid_1', index % 2 ? 'queued' : 'running'),
    );
    expect(worth.filter(Boolean)).toHaveLength(32);
    expect(polls.isWorthSpan('vid_1', 'succeeded')).toBe(true);
    expect(polls.isWorthSpan('vid_1', 'failed')).toBe(false);
  });
});

describe('a program that has OpenTelemetry of its own', () => {
  it('keeps its tracer provider, which gets our spans', async () => {
    const problems: string[] = [];
    const exporting = startExporting({ serviceName: 'x', onProblem: (problem) => problems.push(problem) });
    await exporting.close();
    await tracing.span({ name: 'x', kind: 'internal', facts: {} }, async () => undefined);
    expect(spans()).toHaveLength(1);
    expect(problems).toEqual([]);
  });
});

test('the video service is not told of the trace', async () => {
  const headers: unknown[] = [];
  const server = createServer((request, reply) => {
    headers.push(request.headers);
    reply.end('{"task_id":"vid_1","status":"queued"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const service = createVideoService({ baseUrl: `http://127.0.0.1:${port}`, apiKey: () => 'key-12345678' });
  await tracing.span({ name: 'x', kind: 'internal', facts: {} }, async () => {
    expect(traceHeaders()).toEqual({ traceparent: expect.stringMatching(/^00-/) });
    await service.poll('vid_1');
  });
  await service.close();
  await new Promise((resolve) => server.close(resolve));
  expect(headers).toEqual([expect.not.objectContaining({ traceparent: expect.anything() })]);
  expect(spans()[0]?.attributes).toEqual({ 'http.response.status_code': 200 });
});

test('a Nexus operation of ours belongs to the trace of its caller, and one of the host’s is left alone', async () => {
  const [factory] = withTracing<Partial<WorkerOptions>>({}, tracing).interceptors?.nexus ?? [];
  const start = async (service: string) => {
    const ctx = { service, operation: 'generateVideo', headers: { traceparent: PARENT } };
    const next = async () => ({ traceId: trace.getActiveSpan()?.spanContext().traceId });
    const { startOperation } = factory?.(ctx as never).inbound ?? {};
    return startOperation?.({ ctx, input: undefined } as never, next as never);
  };
  expect(await start('VideoGeneration')).toEqual({ traceId: CALLER.traceId });
  expect(await start('Orders')).toEqual({ traceId: undefined });
  expect(spans().map(({ name }) => name)).toEqual(['RunStartNexusOperation:VideoGeneration/generateVideo']);
});
