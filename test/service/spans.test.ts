import { trace } from '@opentelemetry/api';
import { openSpan, traceCall, traceHeaders } from '../../src/service/spans';

afterEach(() => trace.disable());

/** A provider whose spans cannot be ended, or not even be started. */
function breakTracing(what: 'start' | 'end'): void {
  const broken = () => {
    throw new Error('a broken exporter');
  };
  const span = { setAttributes: () => span, setStatus: () => span, end: broken };
  const startSpan = what === 'start' ? broken : () => span;
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as never);
}

test.each(['start', 'end'] as const)(
  'a provider that fails at the %s of a span loses no answer',
  async (what) => {
    breakTracing(what);
    expect(await traceCall('POST', async () => ({ statusCode: 202 }))).toEqual({ statusCode: 202 });
    const cut = new Error('cut');
    await expect(traceCall('POST', () => Promise.reject(cut))).rejects.toBe(cut);
  },
);

test('without a provider calls run, and receivers are told of no trace', async () => {
  expect(await traceCall('GET', async () => ({ statusCode: 200 }))).toEqual({ statusCode: 200 });
  expect(traceHeaders()).toEqual({});
  const span = openSpan({ name: 'GET /v1/videos', kind: 'SERVER', attributes: {}, traceparent: 'nonsense' });
  expect(span?.within(() => 7)).toBe(7);
  span?.end({});
});

test('without OpenTelemetry calls run too', async () => {
  jest.resetModules();
  jest.doMock('@opentelemetry/api', () => {
    throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
  });
  const spans: typeof import('../../src/service/spans') = require('../../src/service/spans');
  expect(await spans.traceCall('GET', async () => ({ statusCode: 200 }))).toEqual({ statusCode: 200 });
  expect(spans.openSpan({ name: 'x', kind: 'SERVER', attributes: {} })).toBeUndefined();
  expect(spans.traceHeaders()).toEqual({});
  jest.dontMock('@opentelemetry/api');
});
