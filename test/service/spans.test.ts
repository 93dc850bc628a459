import { trace } from '@opentelemetry/api';
import { openSpan } from '../../src/service';
import { replyJson } from './raw-server';
import { closeAfterTest, connect, faultOf, serve, submit } from './service-world';

afterEach(() => trace.disable());

const accepting = () => serve((request) => replyJson(request, { task_id: 't' }));

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
    expect(await submit(connect((await accepting()).url))).toMatchObject({ taskId: 't' });
    const { url } = await serve(({ socket }) => socket.destroy());
    expect((await faultOf(submit(connect(url)))).kind).toBe('cut');
  },
);

test('without a provider work within a span runs, whatever trace it belongs to', () => {
  const span = openSpan({ name: 'GET /v1/videos', kind: 'SERVER', attributes: {}, traceparent: 'nonsense' });
  expect(span?.within(() => 7)).toBe(7);
  span?.end({});
});

test('without OpenTelemetry calls run too', async () => {
  jest.resetModules();
  jest.doMock('@opentelemetry/api', () => {
    throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
  });
  const loaded: typeof import('../../src/service') = require('../../src/service');
  const { url } = await accepting();
  const service = closeAfterTest(loaded.createVideoService({ baseUrl: url, apiKey: () => 'key' }));
  expect(await submit(service)).toMatchObject({ taskId: 't' });
  expect(loaded.openSpan({ name: 'x', kind: 'SERVER', attributes: {} })).toBeUndefined();
  jest.dontMock('@opentelemetry/api');
});
